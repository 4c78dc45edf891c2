# page.cmake - a file as a C array. cmake -DFROM=page.html -DTO=page.c -P page.cmake
file(READ ${FROM} hex HEX)
string(REGEX REPLACE "(................................................)" "\\1\n" hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
file(WRITE ${TO} "/* made from page.html */\n#include \"page.h\"\n\n"
  "static const uint8_t bytes[] = {\n${bytes}\n};\n\n"
  "const struct md_slice status_page = { .bytes = bytes, .length = sizeof(bytes) };\n")
