// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What urnic finds out about a program without running it: which libibverbs it would get below `urnic run`.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tools/runtime/loader/loaded_libraries.h"
#include "tools/runtime/loader/program_file.h"
#include "tools/runtime/mounts/mount_namespace.h"

namespace urnic::tools {

/// A library that moves data for programs, and how it comes to verbs.
struct Framework {
  std::string_view name;
  std::string_view library;  ///< how the name of its file begins
  /// The part of it that uses verbs, which it loads when it runs: below the folder of the library. Empty: the
  /// library itself.
  std::string_view plugin_folder;
  std::string_view plugin;  ///< how the name of that file begins
  std::string_view advice;  ///< what makes it take urnic's device
};

/// A framework that the program loads when it starts.
struct FrameworkFacts {
  const Framework* framework = nullptr;
  std::filesystem::path part;      ///< the file that uses verbs; empty: it has none, so it was built without
  std::filesystem::path searched;  ///< where that was looked for
  std::vector<LoadedLibrary> loads;  ///< what the part loads
  std::string error;                 ///< why that is not known
};

struct ProgramFacts {
  std::string program;                ///< as the user wrote it
  std::filesystem::path file;         ///< empty: there is no such program
  std::filesystem::path interpreter;  ///< of a script: what runs it, and what the rest is about
  Obstacle obstacle = Obstacle::kNone;
  bool calls_kernel_itself = false;  ///< see program_file.h
  bool is_go = false;
  NamespaceProbe mounts;   ///< whether it may have mounts of its own; read only where it needs them
  bool is_program = true;  ///< false: neither a script nor a 64-bit ELF program
  std::vector<LoadedLibrary> libraries;
  std::string error;   ///< the dynamic linker cannot load the program
  std::string dropin;  ///< urnic's libibverbs
  std::vector<FrameworkFacts> frameworks;
};

/// `dropin` is the folder of urnic's libraries.
ProgramFacts read_program_facts(const std::string& program, const std::string& dropin);

}  // namespace urnic::tools
