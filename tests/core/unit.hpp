// What every unit program includes. tests/core/main.cxx is linked to those that have no main() of their own.
#pragma once
#include <gtest/gtest.h>

bool unit_cuda(); // true if the program was called with the argument cuda
