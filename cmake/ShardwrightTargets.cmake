# SPDX-License-Identifier: Apache-2.0
# Helpers that make the targets. All of them collect a folder's files with GLOB and CONFIGURE_DEPENDS: one folder is one
# target, files are added and moved often, and a list that must be kept beside them only makes conflicts.

# Precompiled headers are shared by all targets of a kind: one file is compiled once instead of once per target. GCC
# takes one only where the flags agree, so a kind has one set of flags, and programs cannot share one with libraries.
#   shardwright_pch(<kind> LIBRARY|PROGRAM LINK <targets> HEADERS <headers>)
function(shardwright_pch kind type)
    cmake_parse_arguments(arg "" "" "LINK;HEADERS" ${ARGN})
    if(NOT SHARDWRIGHT_PCH)
        return()
    endif()
    set(source "${PROJECT_BINARY_DIR}/pch_${kind}.cpp")
    file(GENERATE OUTPUT "${source}" CONTENT "int main() {}\n")
    if(type STREQUAL "LIBRARY")
        add_library(shardwright_pch_${kind} OBJECT "${source}")
    else()
        add_executable(shardwright_pch_${kind} "${source}")
        set_target_properties(shardwright_pch_${kind} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/pch")
    endif()
    target_link_libraries(shardwright_pch_${kind} PRIVATE shardwright_options ${arg_LINK})
    target_precompile_headers(shardwright_pch_${kind} PRIVATE ${arg_HEADERS})
endfunction()

function(shardwright_use_pch target kind)
    if(TARGET shardwright_pch_${kind})
        target_precompile_headers(${target} REUSE_FROM shardwright_pch_${kind})
    endif()
endfunction()

set(shardwright_std_headers
    <algorithm> <array> <cstdint> <functional> <map> <memory> <optional> <set> <span> <string> <string_view>
    <unordered_map> <unordered_set> <utility> <variant> <vector>)
# Single headers: a whole <QtWidgets/QtWidgets> makes a file of 370 MB.
set(shardwright_qt_headers
    <QtCore/QObject> <QtCore/QString> <QtCore/QStringList> <QtCore/QList> <QtCore/QVariant> <QtCore/QTimer>
    <QtCore/QFile> <QtCore/QAbstractItemModel>)
set(shardwright_test_headers <QtTest/QTest> <QtTest/QSignalSpy>)
set(shardwright_widget_headers
    <QtGui/QAction> <QtGui/QPainter> <QtGui/QUndoStack> <QtWidgets/QBoxLayout> <QtWidgets/QGraphicsItem>
    <QtWidgets/QGraphicsScene> <QtWidgets/QLabel> <QtWidgets/QTreeView>)

# A library of the files in the current folder (not below it), included as "folder/file.h" from core/. While the folder
# has no .cpp yet it passes on its dependencies only, so that others can name it from the start.
#   shardwright_library(<name> DEPENDS <targets>)
function(shardwright_library name)
    cmake_parse_arguments(arg "" "" "DEPENDS" ${ARGN})
    file(GLOB headers CONFIGURE_DEPENDS *.h)
    file(GLOB sources CONFIGURE_DEPENDS *.cpp)
    file(GLOB messages CONFIGURE_DEPENDS *.proto)
    if(NOT sources AND NOT messages)
        add_library(${name} INTERFACE)
        target_include_directories(${name} INTERFACE "${PROJECT_SOURCE_DIR}/core")
        target_link_libraries(${name} INTERFACE ${arg_DEPENDS})
        return()
    endif()
    add_library(${name} STATIC ${sources} ${headers})
    target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}/core")
    target_link_libraries(${name} PRIVATE shardwright_options PUBLIC ${arg_DEPENDS})
    shardwright_use_pch(${name} core)
    if(messages)
        # events.proto of core/run is included as "run/events.pb.h".
        set(generated_root "${PROJECT_BINARY_DIR}/generated")
        file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}/core" "${CMAKE_CURRENT_SOURCE_DIR}")
        file(MAKE_DIRECTORY "${generated_root}/${folder}")
        set(generated "")
        foreach(message IN LISTS messages)
            get_filename_component(stem "${message}" NAME_WE)
            set(outputs "${generated_root}/${folder}/${stem}.pb.cc" "${generated_root}/${folder}/${stem}.pb.h")
            add_custom_command(OUTPUT ${outputs} DEPENDS "${message}" VERBATIM
                COMMAND protobuf::protoc "--proto_path=${PROJECT_SOURCE_DIR}/core" "--cpp_out=${generated_root}" "${message}")
            list(APPEND generated ${outputs})
        endforeach()
        target_sources(${name} PRIVATE ${generated})
        set_source_files_properties(${generated} PROPERTIES COMPILE_OPTIONS -w SKIP_LINTING ON)
        target_include_directories(${name} SYSTEM PUBLIC "${generated_root}")
    endif()
endfunction()

# A program of the files in app/<folder>. Nothing while the folder has no main.cpp yet.
#   shardwright_program(<name> LINK <targets>)
function(shardwright_program name)
    cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
    file(GLOB sources CONFIGURE_DEPENDS ${name}/*.h ${name}/*.cpp)
    if(NOT "${CMAKE_CURRENT_SOURCE_DIR}/${name}/main.cpp" IN_LIST sources)
        return()
    endif()
    add_executable(${name} ${sources})
    target_include_directories(${name} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}/${name}")
    target_link_libraries(${name} PRIVATE shardwright_options ${arg_LINK})
    target_compile_definitions(${name} PRIVATE SHARDWRIGHT_VERSION="${PROJECT_VERSION}")
    install(TARGETS ${name} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endfunction()

# A library of the files in the current folder that programs load when a run needs it, from ../lib/shardwright beside
# themselves: lib<name>.so. It knows interfaces of core/ (headers) but links none of it.
#   shardwright_plugin(<name> LINK <targets>)
function(shardwright_plugin name)
    cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
    file(GLOB sources CONFIGURE_DEPENDS *.h *.cpp)
    add_library(${name} MODULE ${sources})
    set_target_properties(${name} PROPERTIES
        CXX_VISIBILITY_PRESET hidden LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib/shardwright")
    target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/core")
    target_link_libraries(${name} PRIVATE shardwright_options ${arg_LINK})
    install(TARGETS ${name} LIBRARY DESTINATION lib/shardwright)
    # Whoever builds the worker, or what tests it, has its plug-ins too.
    add_dependencies(shardwright_run ${name})
endfunction()
