# A room is one folder of src/ and one static library. It can include the headers of the rooms that it
# names under DEPENDS (and of those that they name) and of no other: each room's headers are reached
# through a folder of their own in the build tree, which only its dependants have on their path.

add_library(fuseproof_options INTERFACE)
target_compile_options(fuseproof_options INTERFACE -Wall -Wextra -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13.3)
  # Fires on std::string's operator+ in optimised builds: GCC bug 105651.
  target_compile_options(fuseproof_options INTERFACE -Wno-restrict)
endif()
if(FUSEPROOF_SANITIZE)
  target_compile_options(fuseproof_options INTERFACE
    -fsanitize=${FUSEPROOF_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  target_link_options(fuseproof_options INTERFACE -fsanitize=${FUSEPROOF_SANITIZE})
endif()

# fuseproof_room(NAME SOURCES file… [DEPENDS room…] [LIBRARIES target…])
function(fuseproof_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;DEPENDS;LIBRARIES" ${ARGN})
  string(REPLACE "/" "_" flat ${name})
  set(headers ${CMAKE_BINARY_DIR}/rooms/${flat})
  get_filename_component(parent ${headers}/${name} DIRECTORY)
  file(MAKE_DIRECTORY ${parent})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/src/${name} ${headers}/${name} SYMBOLIC)
  add_library(fuseproof_${flat} STATIC ${ROOM_SOURCES})
  target_include_directories(fuseproof_${flat} PUBLIC ${headers})
  target_link_libraries(fuseproof_${flat} PRIVATE fuseproof_options PUBLIC ${ROOM_LIBRARIES})
  foreach(dependency IN LISTS ROOM_DEPENDS)
    string(REPLACE "/" "_" dependency ${dependency})
    target_link_libraries(fuseproof_${flat} PUBLIC fuseproof_${dependency})
  endforeach()
endfunction()

# fuseproof_test(NAME SOURCES file… DEPENDS room… [LIBRARIES target…]): a doctest program.
function(fuseproof_test name)
  cmake_parse_arguments(TEST "" "" "SOURCES;DEPENDS;LIBRARIES" ${ARGN})
  string(REPLACE "/" "_" flat ${name})
  add_executable(test_${flat} ${TEST_SOURCES} ${CMAKE_SOURCE_DIR}/tests/cpp/main.cpp)
  target_include_directories(test_${flat} PRIVATE ${CMAKE_SOURCE_DIR}/tests/cpp)
  target_link_libraries(test_${flat} PRIVATE fuseproof_options doctest::doctest ${TEST_LIBRARIES})
  foreach(dependency IN LISTS TEST_DEPENDS)
    string(REPLACE "/" "_" dependency ${dependency})
    target_link_libraries(test_${flat} PRIVATE fuseproof_${dependency})
  endforeach()
  add_test(NAME ${flat} COMMAND test_${flat})
endfunction()
