# find_package(tessera) gives tessera::tessera: the library, its headers, and the PETSc that it was built for, all as
# tessera.pc beside this file says; tessera_LIBRARY is its path, for -dll_append, tessera_FORTRAN the Fortran module.
include(CMakeFindDependencyMacro)
find_dependency(PkgConfig)
set(tessera_paths "$ENV{PKG_CONFIG_PATH}")
set(ENV{PKG_CONFIG_PATH} "${CMAKE_CURRENT_LIST_DIR}/../../pkgconfig:${tessera_paths}")
pkg_check_modules(tessera_pc REQUIRED QUIET IMPORTED_TARGET GLOBAL tessera)
pkg_get_variable(tessera_LIBRARY tessera library)
pkg_get_variable(tessera_FORTRAN tessera fortran)
set(ENV{PKG_CONFIG_PATH} "${tessera_paths}")
unset(tessera_paths)
if(NOT TARGET tessera::tessera)
  add_library(tessera::tessera ALIAS PkgConfig::tessera_pc)
endif()
