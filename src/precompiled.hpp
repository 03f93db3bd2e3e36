// Headers that most files include, which g++ reads once (makefile). Every file includes what it needs all the same.
#include <petsc/private/kspimpl.h>
#include <petsc/private/pcimpl.h>
#include <petsc/private/snesimpl.h>
#include <algorithm>
#include <climits>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>
#include "exec/exec.hpp"
#include "exec/buffer.hpp"
