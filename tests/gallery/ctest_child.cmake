# SPDX-License-Identifier: MIT
# What ctest reads: two tests, of which the second fails.
add_test(parses_small "./ctest_child" "17")
add_test(parses_large "./ctest_child" "4000000000")
