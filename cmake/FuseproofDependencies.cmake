# The libraries of docs/design.md, "Dependencies". A missing one names its Debian package.

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)

function(fuseproof_require package debian)
  find_package(${package} QUIET CONFIG)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "${package} was not found. On Debian and Ubuntu: apt-get install ${debian}")
  endif()
endfunction()

function(fuseproof_require_pkg target module debian)
  pkg_check_modules(${target} QUIET IMPORTED_TARGET GLOBAL ${module})
  if(NOT TARGET PkgConfig::${target})
    message(FATAL_ERROR "${module} was not found. On Debian and Ubuntu: apt-get install ${debian}")
  endif()
endfunction()

fuseproof_require(nlohmann_json nlohmann-json3-dev)
fuseproof_require(fmt libfmt-dev)
fuseproof_require(CLI11 libcli11-dev)
fuseproof_require_pkg(XXHASH libxxhash libxxhash-dev)
fuseproof_require_pkg(HWY libhwy libhwy-dev)
fuseproof_require_pkg(FFI libffi libffi-dev)
find_path(KAINJOW_MUSTACHE_INCLUDE kainjow/mustache.hpp)
if(NOT KAINJOW_MUSTACHE_INCLUDE)
  message(FATAL_ERROR
    "kainjow/mustache.hpp was not found. On Debian and Ubuntu: apt-get install libkainjow-mustache-dev")
endif()
fuseproof_require_pkg(SMARTCOLS smartcols libsmartcols-dev)
if(FUSEPROOF_TESTS)
  fuseproof_require(doctest doctest-dev)
endif()
if(FUSEPROOF_BENCH)
  fuseproof_require(benchmark libbenchmark-dev)
endif()

if(FUSEPROOF_TORCH OR FUSEPROOF_PYTHON)
  find_package(Python 3.9 REQUIRED COMPONENTS Interpreter Development.Module)
endif()

# A thin target for the installed torch wheel: its headers, libtorch_cpu and libc10. find_package(Torch)
# would look for CUDA's toolkit and set global flags.
if(FUSEPROOF_TORCH)
  execute_process(
    COMMAND ${Python_EXECUTABLE} -c
      "import importlib.util as u, os; s = u.find_spec('torch'); print(os.path.dirname(s.origin) if s else '')"
    OUTPUT_VARIABLE FUSEPROOF_TORCH_DIR OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  if(NOT FUSEPROOF_TORCH_DIR)
    message(FATAL_ERROR "${Python_EXECUTABLE} has no torch. Run `make setup`, or pip install torch==2.13.0")
  endif()
  add_library(fuseproof_torch_wheel INTERFACE)
  # Searched last: the wheel brings headers of its own fmt, which must not hide the one linked here.
  target_compile_options(fuseproof_torch_wheel INTERFACE
    "SHELL:-idirafter ${FUSEPROOF_TORCH_DIR}/include")
  target_link_libraries(fuseproof_torch_wheel INTERFACE
    ${FUSEPROOF_TORCH_DIR}/lib/libtorch_cpu.so ${FUSEPROOF_TORCH_DIR}/lib/libc10.so)
endif()
