/* times.c - points of time in an access file, in UTC. See rules.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "rules.h"

#define DAY_S 86400u

/* Since 1970, of the Gregorian calendar: years begin in March, so that a leap day is their last. */
static uint64_t days_of(uint32_t year, uint32_t month, uint32_t day)
{
    uint32_t y = month > 2 ? year : year - 1;
    uint32_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

    return 365ull * y + y / 4 - y / 100 + y / 400 + of_year - 719468;
}

static uint32_t days_in(uint32_t year, uint32_t month)
{
    return (uint32_t)(days_of(month == 12 ? year + 1 : year, month == 12 ? 1 : month + 1, 1) -
                      days_of(year, month, 1));
}

/* `count` digits at *at, and then `behind`, which may be 0: nothing. */
static bool take(struct entitle_view *rest, size_t count, char behind, uint32_t *out)
{
    size_t length = count + (behind != 0);

    if (rest->length < length || (behind && rest->data[count] != behind) ||
        !entitle_number((struct entitle_view){ rest->data, count }, out))
        return false;
    rest->data += length;
    rest->length -= length;
    return true;
}

bool entitle_time_read(struct entitle_view word, uint64_t *out)
{
    uint32_t year, month, day, hour = 0, minute = 0, second = 0;
    bool is_day = word.length == sizeof("2027-01-31") - 1;

    if (!take(&word, 4, '-', &year) || !take(&word, 2, '-', &month) ||
        !take(&word, 2, is_day ? 0 : 'T', &day))
        return false;
    if (!is_day && (!take(&word, 2, ':', &hour) || !take(&word, 2, ':', &minute) ||
                    !take(&word, 2, 'Z', &second)))
        return false;
    if (word.length > 0 || year < 1970 || month < 1 || month > 12 || day < 1 ||
        day > days_in(year, month) || hour > 23 || minute > 59 || second > 59)
        return false;
    *out = days_of(year, month, day) * DAY_S + hour * 3600u + minute * 60u + second;
    return true;
}

void entitle_time_write(uint64_t time_s, char out[ENTITLE_TIME_MAX])
{
    uint64_t days = time_s / DAY_S;
    uint32_t second = (uint32_t)(time_s % DAY_S);
    uint32_t year = (uint32_t)(1970 + days / 366), month = 1;

    while (days_of(year + 1, 1, 1) <= days)
        year++;
    while (month < 12 && days_of(year, month + 1, 1) <= days)
        month++;
    snprintf(out, ENTITLE_TIME_MAX, "%04u-%02u-%02uT%02u:%02u:%02uZ", year % 10000, month,
             (unsigned)(days - days_of(year, month, 1) + 1), second / 3600, second / 60 % 60,
             second % 60);
}
