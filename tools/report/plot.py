"""plot.py - SVG charts: lines, bands and bars over two axes; a value is shown where the pointer
rests."""
# SPDX-License-Identifier: Apache-2.0
import html
import math

# Readable on white and on black.
COLOURS = ["#0a7d4f", "#d1453b", "#3b78d8", "#b86e00", "#9a4fb5", "#0b8a8a", "#7a7a7a", "#c2508f",
           "#5f8a00", "#a0705f"]
GREY = "#8a8a8a"
EMPTY_LOG, ROOM_LOG, ROOM = (1, 10), 1.15, 1.08
PERCENTILE_STEP = 1.04  # between two points of a line: some 60 for each nine


def number(value):
    """At most three significant digits, thousands separated."""
    if value is None:
        return "-"
    if isinstance(value, (bool, str)):
        return str(value)
    if isinstance(value, dict):
        return ", ".join(f"{name} {number(one)}" for name, one in value.items())
    if isinstance(value, (list, tuple)):
        return " ".join(number(one) for one in value)
    if abs(value) >= 1000 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3g}"


def short(value):
    """10.1 M of 10,100,000; 250 k of 250,000."""
    for unit, name in ((1e6, " M"), (1e4, " k")):
        if value >= unit:
            return f"{value / (1e3 if name == ' k' else unit):.3g}{name}"
    return number(value)


def log_ticks(low, high):
    """1, 2 and 5 of each decade; only 1 where the decades are many."""
    decades = math.log10(high / low)
    steps = (1,) if decades > 4 else (1, 2, 5)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [step * 10.0**e for e in range(first, last + 1) for step in steps
            if low / 1.0001 <= step * 10.0**e <= high * 1.0001]


def linear_ticks(low, high):
    """Four to ten round values."""
    step = 10.0 ** math.floor(math.log10(max(high - low, 1e-9)))
    for part in (1, 2, 5, 10):
        if (high - low) / (step / part) >= 4:
            step /= part
            break
    return [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def ticks(low, high, is_log):
    return log_ticks(low, high) if is_log else linear_ticks(low, high)


class Chart:
    """Lines, bands and bars over two axes, each linear or logarithmic."""

    WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 940, 420, 76, 270, 34, 46
    NAME_GAP = 13  # between the names at the ends of the lines

    def __init__(self, title, x_name, y_name, log_x=False, log_y=False, x_ticks=None):
        self.title, self.x_name, self.y_name = title, x_name, y_name
        self.log_x, self.log_y, self.x_ticks = log_x, log_y, x_ticks
        self.lines, self.bands, self.bars = [], [], []

    def line(self, name, points, colour=None, width=1.4, dash="", marks=False, named=True):
        """`named`: its name stands at its end; else the pointer shows it."""
        points = [(x, y) for x, y in points if y is not None and (y > 0 or not self.log_y)]
        if points:
            colour = colour or COLOURS[len(self.lines) % len(COLOURS)]
            self.lines.append((name, sorted(points), colour, width, dash, marks, named))

    def band(self, low, high, colour):
        self.bands.append((sorted(low), sorted(high), colour))

    def bar(self, x0, x1, y, name=""):
        self.bars.append((x0, x1, y, name))

    def scale(self):
        xs = [x for line in self.lines for x, _ in line[1]]
        ys = [y for line in self.lines for _, y in line[1]]
        for low, high, _ in self.bands:
            ys += [y for _, y in low + high]
        for x0, x1, y, _ in self.bars:
            xs += [x0, x1]
            ys.append(y)
        if not xs:
            xs, ys = EMPTY_LOG, EMPTY_LOG
        self.x0, self.x1 = min(xs), max(xs)
        if self.log_y:
            positive = [y for y in ys if y > 0] or EMPTY_LOG
            self.y0, self.y1 = min(positive) / ROOM_LOG, max(positive) * ROOM_LOG
        else:
            self.y0, self.y1 = 0, max(ys) * ROOM or 1
        if self.x0 == self.x1:
            self.x0, self.x1 = self.x0 * 0.9, self.x1 * 1.1 or 1

    @staticmethod
    def share(value, low, high, is_log):
        if is_log:
            return (math.log(max(value, low)) - math.log(low)) / (math.log(high) - math.log(low))
        return (value - low) / (high - low)

    def x(self, value):
        room = self.WIDTH - self.LEFT - self.RIGHT
        return self.LEFT + room * self.share(value, self.x0, self.x1, self.log_x)

    def y(self, value):
        room = self.HEIGHT - self.TOP - self.BOTTOM
        return self.HEIGHT - self.BOTTOM - room * self.share(value, self.y0, self.y1, self.log_y)

    def axes(self):
        out = []
        bottom, right = self.HEIGHT - self.BOTTOM, self.WIDTH - self.RIGHT
        named = self.x_ticks or [(v, short(v)) for v in ticks(self.x0, self.x1, self.log_x)]
        for value, name in named if self.x_name else []:
            if self.x0 <= value <= self.x1 * 1.0001:
                at = self.x(value)
                out.append(f'<line x1="{at:.1f}" y1="{self.TOP}" x2="{at:.1f}" y2="{bottom}" '
                           f'class="g"/>'
                           f'<text x="{at:.1f}" y="{bottom + 16}" '
                           f'text-anchor="middle">{html.escape(name)}</text>')
        for value in ticks(self.y0, self.y1, self.log_y):
            at = self.y(value)
            out.append(f'<line x1="{self.LEFT}" y1="{at:.1f}" x2="{right}" y2="{at:.1f}" '
                       f'class="g"/>'
                       f'<text x="{self.LEFT - 6}" y="{at + 4:.1f}" '
                       f'text-anchor="end">{short(value)}</text>')
        out.append(f'<text x="{self.LEFT}" y="18" class="t">{html.escape(self.title)}</text>'
                   f'<text x="{(self.LEFT + right) / 2}" y="{self.HEIGHT - 8}" '
                   f'text-anchor="middle">'
                   f'{html.escape(self.x_name)}</text>'
                   f'<text transform="translate(14 {(self.TOP + bottom) / 2}) rotate(-90)" '
                   f'text-anchor="middle">{html.escape(self.y_name)}</text>')
        return out

    def labels(self):
        """Names at the ends of the lines, moved apart where they would meet, inside the picture."""
        ends = sorted(((self.y(line[1][-1][1]), line[0], line[2]) for line in self.lines
                       if line[6]), key=lambda e: e[0])
        places, last = [], self.TOP - self.NAME_GAP
        for at, _, _ in ends:
            last = max(at, last + self.NAME_GAP)
            places.append(last)
        below = self.HEIGHT - 4
        for i in reversed(range(len(places))):
            places[i] = min(places[i], below)
            below = places[i] - self.NAME_GAP
        return [f'<text x="{self.WIDTH - self.RIGHT + 8}" y="{at + 4:.1f}" fill="{colour}" '
                f'class="s">'
                f'{html.escape(name)}</text>' for at, (_, name, colour) in zip(places, ends)]

    def draw_bar(self, x0, x1, y, name):
        title = f"{name} {number(y)}" if name else f"{number(x0)} to {number(x1)}: {number(y)}"
        out = [f'<rect x="{self.x(x0):.1f}" y="{self.y(y):.1f}" '
               f'width="{max(self.x(x1) - self.x(x0), 0.8):.1f}" '
               f'height="{max(self.HEIGHT - self.BOTTOM - self.y(y), 0):.1f}" fill="{COLOURS[0]}">'
               f'<title>{html.escape(title)}</title></rect>']
        if name:
            at = f"{self.x(x0):.1f} {self.HEIGHT - self.BOTTOM - 6}"
            out.append(f'<text class="s b" transform="translate({at}) rotate(-90) translate(0 '
                       f'{(self.x(x1) - self.x(x0)) / 2 + 3:.1f})">{html.escape(name)} '
                       f'{number(y)}</text>')
        return out

    def draw_line(self, name, points, colour, width, dash, marks):
        path = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
        out = [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}" '
               f'stroke-dasharray="{dash}"><title>{html.escape(name)}</title></polyline>']
        shown = marks or len(points) == 1
        for x, y in points:
            title = html.escape(f"{name}: {number(y)} {self.y_name} at {short(x)} {self.x_name}")
            out.append(f'<circle cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" '
                       f'r="{3.2 if shown else 7}" fill="{colour}"'
                       f'{"" if shown else " fill-opacity=" + chr(34) + "0" + chr(34)}><title>{title}</title></circle>')
        return out

    def svg(self):
        if not any(line[6] for line in self.lines):
            self.RIGHT = 24  # no names need room
        self.scale()
        out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.WIDTH} {self.HEIGHT}" '
               f'role="img" aria-label="{html.escape(self.title)}">'] + self.axes()
        for bar in self.bars:
            out += self.draw_bar(*bar)
        for low, high, colour in self.bands:
            path = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in low + high[::-1])
            out.append(f'<polygon points="{path}" fill="{colour}" opacity="0.2"/>')
        for line in self.lines:
            out += self.draw_line(*line[:6])
        return "\n".join(out + self.labels() + ["</svg>"])


def percentile_points(histogram):
    """(1 / (1 - share), upper value) of each bucket [at, count] of 10: what an HDR plot shows."""
    total, seen = sum(count for _, count in histogram), 0
    points = [(1.0, min(at for at, _ in histogram) + 10)] if histogram else []
    for at, count in sorted(histogram):
        seen += count
        if seen < total and total / (total - seen) >= points[-1][0] * PERCENTILE_STEP:
            points.append((total / (total - seen), at + 10))
    return points


def percentiles(title, named, unit="us"):
    """Latency by percentile, each decade one nine more; `named`: {name: histogram}."""
    marks = [(1.0, "0 %"),
             (2.0, "50 %")] + [(10.0 ** k, f"{100 - 10.0 ** (2 - k):.{max(k - 2, 0)}f} %")
                               for k in range(1, 7)]
    chart = Chart(title, "percentile of the updates", unit, log_x=True, log_y=True, x_ticks=marks)
    for name, histogram in named.items():
        chart.line(name, percentile_points(histogram), width=1.8)
    return chart
