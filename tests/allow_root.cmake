# Read by ctest before the tests: they start daemons as whoever runs them, root included.
set(ENV{RMDS_ALLOW_ROOT} 1)
