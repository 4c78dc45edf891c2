# rmds.cmake - what keeps every other CMake file a plain list of names.

add_library(rmds_flags INTERFACE)
target_compile_definitions(rmds_flags INTERFACE _GNU_SOURCE RMDS_VERSION="${PROJECT_VERSION}")
target_compile_options(rmds_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
  -Wcast-qual -Wformat=2 -Wvla -Wimplicit-fallthrough -Wundef -Wwrite-strings
  -fno-common -fno-omit-frame-pointer -fstack-protector-strong
  $<$<BOOL:${RMDS_WERROR}>:-Werror>)
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(rmds_flags INTERFACE -O3 -g1 -UNDEBUG)
endif()
# Optimising, gcc 12 merges neighbouring byte stores and then warns of "size 0" about its own work.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  target_compile_options(rmds_flags INTERFACE -Wno-stringop-overflow)
endif()
# What an attacker finds: no address that he knows (PIE), no table of functions that he can write
# (RELRO, bound at the start), no jump into the middle of a function (CET), checked copies. A test reads it
# in the programs (tests/package/hardened.py).
include(CheckCCompilerFlag)
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(hardening "")
foreach(flag -fstack-clash-protection -fcf-protection=full)
  string(MAKE_C_IDENTIFIER "has${flag}" known)
  check_c_compiler_flag(${flag} ${known})
  if(${known})
    list(APPEND hardening ${flag})
  endif()
endforeach()
target_compile_options(rmds_flags INTERFACE ${hardening})
target_link_options(rmds_flags INTERFACE -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
# The same tree is the same bytes in whichever folder it is built: no program names that folder.
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT RMDS_SANITIZE)
  set(prefix_map -ffile-prefix-map=${PROJECT_BINARY_DIR}=build -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
  target_compile_options(rmds_flags INTERFACE "${prefix_map}")
  target_link_options(rmds_flags INTERFACE "${prefix_map}")
endif()
# Locals begin as zeros where files, requests and answers of the control loop are handled. Everywhere it costs 0.8 to 1.1 %
# more instructions for an update of a hundred consumers (callgrind of bench_p2ps_fan), so not on the way of the data.
set(RMDS_ZEROED conf daemon httpd status)
check_c_compiler_flag(-ftrivial-auto-var-init=zero has_ftrivial_auto_var_init)
# No tick passes through these, of entitle only one that changes who may see an item: they are compiled once, not again for
# each program that is optimised at link time.
set(RMDS_NEVER_TICKS audit conf daemon entitle httpd jwt livepage omm p2ps_authority p2ps_parties recording stats status)
# Checked copies need an optimiser; a sanitizer has its own.
if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT RMDS_SANITIZE AND NOT RMDS_FUZZ)
  target_compile_options(rmds_flags INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
endif()
if(RMDS_TEST_HOOKS)
  target_compile_definitions(rmds_flags INTERFACE RMDS_TEST_HOOKS)
endif()
if(RMDS_MARCH)
  target_compile_options(rmds_flags INTERFACE -march=${RMDS_MARCH})
endif()
if(RMDS_LTO)
  # Fat objects: programs are optimised across files, tests and benchmarks link the plain code in
  # a tenth of the time.
  set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    target_compile_options(rmds_flags INTERFACE -ffat-lto-objects)
  endif()
endif()
# What a sanitizer finds does not need more than -O1 and the numbers of lines; with -O2 and all of -g, which the type of the
# build says, gcc takes twice as long for a file. The two warnings say more at -O1 than is true; the release build has them.
if(RMDS_SANITIZE)
  target_compile_options(rmds_flags INTERFACE -O1 -g1
    $<$<C_COMPILER_ID:GNU>:-Wno-maybe-uninitialized> $<$<C_COMPILER_ID:GNU>:-Wno-format-truncation>
    -fsanitize=${RMDS_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(rmds_flags INTERFACE -fsanitize=${RMDS_SANITIZE})
endif()
# What is never installed is linked by the quick linker, where there is one: hundreds of programs in half the time.
set(quick_link "")
find_program(RMDS_GOLD ld.gold)
mark_as_advanced(RMDS_GOLD)
if(RMDS_GOLD AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
  set(quick_link -fuse-ld=gold)
endif()
if(RMDS_SANITIZE)
  target_link_options(rmds_flags INTERFACE ${quick_link})
endif()
if(RMDS_FUZZ)
  target_compile_options(rmds_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# rmds_require(PREFIX MODULE APT): the library MODULE as PkgConfig::PREFIX, or an end that says how to
# get it: what a core program needs is no option.
macro(rmds_require prefix module apt)
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(${prefix} QUIET IMPORTED_TARGET GLOBAL ${module})
  if(NOT ${prefix}_FOUND)
    message(FATAL_ERROR "${module} not found: sudo apt-get install ${apt}")
  endif()
endmacro()

# rmds_layer(DIR): enter DIR; folders of layers that are not there yet are passed over.
function(rmds_layer dir)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${dir}/CMakeLists.txt)
    add_subdirectory(${PROJECT_SOURCE_DIR}/${dir} ${PROJECT_BINARY_DIR}/${dir})
  endif()
endfunction()

# A module sees its own headers and those of the modules it USES, and no others: every module has
# an include root of its own, a folder of the build tree that holds nothing but links to
# include/<module>/ (as <module>/) and to its installed headers (as rmds/<name>.h).
function(rmds_include_root name headers out)
  set(root ${PROJECT_BINARY_DIR}/inc/${name})
  file(MAKE_DIRECTORY ${root})
  if(EXISTS ${PROJECT_SOURCE_DIR}/include/${name})
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/include/${name} ${root}/${name} SYMBOLIC)
  endif()
  foreach(header ${headers})
    file(MAKE_DIRECTORY ${root}/rmds)
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/include/rmds/${header} ${root}/rmds/${header} SYMBOLIC)
  endforeach()
  set(${out} ${root} PARENT_SCOPE)
endfunction()

# rmds_module(NAME source... [USES module...] [LIBS target...] [INSTALLED header...]):
# one static library for one layer. USES is the whole of what it may include; LIBS are outside
# libraries, visible to this module only; INSTALLED names its headers in include/rmds/.
function(rmds_module name)
  cmake_parse_arguments(ARG "" "" "USES;LIBS;INSTALLED" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  rmds_include_root(${name} "${ARG_INSTALLED}" root)
  target_include_directories(${name} PUBLIC ${root} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC rmds_flags ${ARG_USES} PRIVATE ${ARG_LIBS})
  if(has_ftrivial_auto_var_init AND name IN_LIST RMDS_ZEROED)
    target_compile_options(${name} PRIVATE -ftrivial-auto-var-init=zero)
  endif()
  if(name IN_LIST RMDS_NEVER_TICKS OR CMAKE_CURRENT_SOURCE_DIR MATCHES "^${PROJECT_SOURCE_DIR}/tests/")
    set_target_properties(${name} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
  endif()
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON
    OUTPUT_NAME rmds_${name} ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
endfunction()

# rmds_no_tick(source...): of the module or program above it those files that no tick passes through. They are compiled
# once, too.
function(rmds_no_tick)
  if(RMDS_LTO AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -fno-lto)
  endif()
endfunction()

# rmds_headers(NAME): a layer of headers only.
function(rmds_headers name)
  add_library(${name} INTERFACE)
  rmds_include_root(${name} "" root)
  target_include_directories(${name} INTERFACE ${root})
endfunction()

# rmds_program(NAME source... [USES module...] [LIBS target...]): build/bin/NAME.
function(rmds_program name)
  cmake_parse_arguments(ARG "" "" "USES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE rmds_flags ${ARG_USES} ${ARG_LIBS})
endfunction()

# What `tools/rmds test` builds under ThreadSanitizer, and with libFuzzer: only what runs there.
# A test with the label threads that is not a unit test adds its programs: add_dependencies(tsan_tests x).
add_custom_target(tsan_tests)
add_custom_target(fuzzers)
add_custom_target(benches)

# A program that is only run here, or whose work is not on the way of a tick: no link-time optimisation, which takes as
# long as compiling all that the program is made of.
function(rmds_plain_link name)
  if(RMDS_LTO AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    set_target_properties(${name} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
    target_link_options(${name} PRIVATE -fno-lto)
  endif()
endfunction()

# The source of a test: to compile it well takes longer than to run it. -O0 halves that, in a sanitizer's build, too.
function(rmds_plain_source file)
  if(CMAKE_BUILD_TYPE STREQUAL "Release" OR RMDS_SANITIZE)
    set_source_files_properties(${PROJECT_SOURCE_DIR}/${file} PROPERTIES COMPILE_OPTIONS "-O0;-U_FORTIFY_SOURCE")
  endif()
endfunction()

# rmds_test_takes(TENTHS NAME...): how much of a core these tests use while they run. `tools/rmds test` fills the
# cores by it and runs more tests at once than there are cores; without it a test is taken for one that only waits.
function(rmds_test_takes tenths)
  set_tests_properties(${ARGN} PROPERTIES RESOURCE_GROUPS "cores:${tenths}")
endfunction()

# rmds_asan_in_long(NAME...): what a sanitizer would see in these tests of this folder it sees in others, which have the same
# code with less around it: under ASan and UBSan they run with --long alone; so unit tests among them run in the release build.
function(rmds_asan_in_long)
  foreach(name ${ARGN})
    get_property(labels TEST ${name} PROPERTY LABELS)
    list(REMOVE_ITEM labels release-long)
    set_property(TEST ${name} PROPERTY LABELS ${labels} asan-long)
    if(TARGET ${name})
      set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL OFF)
    endif()
  endforeach()
endfunction()

# rmds_simulators(): of what a simulator does under ASan a third would be watching the stacks of functions that have
# returned. The unit tests of the same engines and the fuzzers watch them.
function(rmds_simulators)
  if(RMDS_SANITIZE)
    get_property(tests DIRECTORY PROPERTY TESTS)
    set_property(TEST ${tests} APPEND PROPERTY
      ENVIRONMENT_MODIFICATION "ASAN_OPTIONS=string_append::detect_stack_use_after_return=0")
  endif()
endfunction()

# The unit tests of a build that is optimised at link time, which are none of `all` there: the same tests run under ASan and
# UBSan each time, here with --long and for a PATTERN. Those stay that a sanitizer disturbs, and those of threads: what an
# optimiser may do to them it does here.
add_custom_target(unit_tests)

# rmds_unit_test(NAME [USES module...] [LIBS target...] [LABELS label...]):
# tests/unit/NAME.c, one cmocka program.
function(rmds_unit_test name)
  cmake_parse_arguments(ARG "" "" "USES;LIBS;LABELS" ${ARGN})
  if(NOT RMDS_TESTS)
    return()
  endif()
  rmds_require(CMOCKA cmocka libcmocka-dev)
  add_executable(${name} ${PROJECT_SOURCE_DIR}/tests/unit/${name}.c ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/unit)
  target_compile_definitions(${name} PRIVATE
    RMDS_SOURCE_DIR="${PROJECT_SOURCE_DIR}" RMDS_BINARY_DIR="${PROJECT_BINARY_DIR}")
  target_link_libraries(${name} PRIVATE rmds_flags ${ARG_USES} ${ARG_LIBS} PkgConfig::CMOCKA)
  rmds_plain_link(${name})
  target_link_options(${name} PRIVATE ${quick_link})
  rmds_plain_source(tests/unit/${name}.c)
  add_test(NAME ${name} COMMAND ${name})
  set(timeout 60)
  if(RMDS_SANITIZE)
    set(timeout 300)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "unit;${ARG_LABELS}" TIMEOUT ${timeout}
    SKIP_RETURN_CODE 77)
  rmds_test_takes(10 ${name})
  if(RMDS_LTO AND NOT ARG_LABELS)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    set_property(TEST ${name} APPEND PROPERTY LABELS release-long)
    add_dependencies(unit_tests ${name})
  endif()
  if("threads" IN_LIST ARG_LABELS OR "tsan" IN_LIST ARG_LABELS)
    add_dependencies(tsan_tests ${name})
  endif()
endfunction()

# rmds_fuzz_test(NAME [USES module...] [INPUTS COUNT]): tests/fuzz/NAME.c. With RMDS_FUZZ a libFuzzer program
# build/fuzz/NAME, which begins with all of tests/corpus/NAME/. Under ASan and UBSan, and in a build for debugging, a ctest
# NAME_replay, which runs the same and COUNT changed inputs (20,000: what is quick takes a second).
function(rmds_fuzz_test name)
  cmake_parse_arguments(ARG "" "INPUTS" "USES;LIBS" ${ARGN})
  if(NOT RMDS_TESTS)
    return()
  endif()
  if(RMDS_FUZZ)
    add_executable(${name} ${PROJECT_SOURCE_DIR}/tests/fuzz/${name}.c)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_libraries(${name} PRIVATE rmds_flags ${ARG_USES} ${ARG_LIBS})
    add_dependencies(fuzzers ${name})
  elseif(CMAKE_BUILD_TYPE STREQUAL "Debug" OR RMDS_SANITIZE MATCHES "address")
    if(NOT ARG_INPUTS)
      set(ARG_INPUTS 20000)
    endif()
    rmds_plain_source(tests/fuzz/${name}.c)
    rmds_plain_source(tests/fuzz/replay.c)
    if(NOT TARGET fuzz_replay)
      add_library(fuzz_replay OBJECT ${PROJECT_SOURCE_DIR}/tests/fuzz/replay.c)
      target_link_libraries(fuzz_replay PRIVATE rmds_flags base)
    endif()
    add_executable(${name}_replay ${PROJECT_SOURCE_DIR}/tests/fuzz/${name}.c $<TARGET_OBJECTS:fuzz_replay>)
    set_target_properties(${name}_replay PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    target_link_libraries(${name}_replay PRIVATE rmds_flags ${ARG_USES} base ${ARG_LIBS})
    add_test(NAME ${name}_replay
      COMMAND ${name}_replay -mutate ${ARG_INPUTS} ${PROJECT_SOURCE_DIR}/tests/corpus/${name})
    set_tests_properties(${name}_replay PROPERTIES LABELS fuzz TIMEOUT 600)
    rmds_test_takes(10 ${name}_replay)
  endif()
endfunction()

# rmds_bench(NAME source... [USES module...] [LIBS target...] [TESTED]): build/bench/NAME, optimised at link time as the
# programs are, and therefore not one of `all` in such a build, nor in one with a sanitizer: `tools/rmds bench` builds what it
# runs. TESTED: a test runs it, and it is linked as tests are.
function(rmds_bench name)
  cmake_parse_arguments(ARG "TESTED" "" "USES;LIBS" ${ARGN})
  if(NOT RMDS_TESTS)
    return()
  endif()
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
  target_link_libraries(${name} PRIVATE rmds_flags ${ARG_USES} ${ARG_LIBS})
  add_dependencies(benches ${name})
  if(ARG_TESTED)
    rmds_plain_link(${name})
  elseif(RMDS_LTO OR RMDS_SANITIZE)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# rmds_feature(NAME VALUE): one line of --version, e.g. rmds_feature(zlib ${ZLIB_VERSION}).
function(rmds_feature name value)
  set_property(TARGET rmds_flags APPEND PROPERTY RMDS_FEATURES "  ${name} ${value}\\n")
endfunction()
