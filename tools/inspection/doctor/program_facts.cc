// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/inspection/doctor/program_facts.h"

#include <algorithm>
#include <optional>
#include <system_error>

namespace urnic::tools {
namespace {

namespace fs = std::filesystem;

// Debian's Open MPI has its plugins below openmpi/lib/openmpi3, others have them in openmpi/.
constexpr Framework kFrameworks[] = {
    {"UCX", "libucs", "ucx", "libuct_ib", "UCX_NET_DEVICES=urnic0:1 keeps it from taking TCP as well"},
    {"libfabric", "libfabric", "", "", "FI_PROVIDER=verbs, or '-p verbs' of its programs, chooses it"},
    {"libfabric", "libfabric", "libfabric", "libverbs-fi",
     "FI_PROVIDER=verbs, or '-p verbs' of its programs, chooses it"},
    {"Open MPI", "libopen-pal", "openmpi/lib/openmpi3", "mca_pml_ucx", "'mpirun --mca pml ucx' chooses it"},
    {"Open MPI", "libopen-pal", "openmpi", "mca_pml_ucx", "'mpirun --mca pml ucx' chooses it"},
    {"NCCL", "libnccl", "", "", "NCCL_IB_HCA=urnic0 chooses it; NCCL_DEBUG=INFO says what it took"},
};

std::optional<fs::path> first_file(const fs::path& folder, std::string_view begin) {
  std::error_code code;
  std::vector<fs::path> found;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(begin) && name.find(".so") != std::string::npos) found.push_back(entry->path());
  }
  if (found.empty()) return std::nullopt;
  return *std::min_element(found.begin(), found.end());
}

FrameworkFacts look_at(const Framework& framework, const fs::path& library, const fs::path& linker,
                       const std::string& dropin) {
  std::error_code code;
  const fs::path folder = fs::canonical(library, code).parent_path();
  FrameworkFacts facts{.framework = &framework,
                       .part = {},
                       .searched = folder / framework.plugin_folder,
                       .loads = {},
                       .error = {}};
  facts.part = framework.plugin.empty() ? library : first_file(facts.searched, framework.plugin).value_or("");
  if (facts.part.empty()) return facts;
  auto loads = loaded_libraries(linker, facts.part, dropin);
  if (loads) {
    facts.loads = std::move(loads).value();
  } else {
    facts.error = loads.error().message;
  }
  return facts;
}

bool loads_verbs(const FrameworkFacts& facts) {
  return find_library(facts.loads, "libibverbs") != nullptr;
}

/// Of a framework that is built in several ways, the one that uses verbs.
void add(std::vector<FrameworkFacts>& frameworks, FrameworkFacts facts) {
  const auto known = std::find_if(frameworks.begin(), frameworks.end(), [&](const FrameworkFacts& other) {
    return other.framework->name == facts.framework->name;
  });
  if (known == frameworks.end()) {
    frameworks.push_back(std::move(facts));
  } else if (!loads_verbs(*known) && !facts.part.empty()) {
    *known = std::move(facts);
  }
}

void add_frameworks(const std::vector<LoadedLibrary>& libraries, const fs::path& linker,
                    const std::string& dropin, std::vector<FrameworkFacts>& frameworks) {
  std::vector<std::string_view> known;
  for (const FrameworkFacts& framework : frameworks) known.push_back(framework.framework->name);
  for (const Framework& framework : kFrameworks) {
    const LoadedLibrary* const library = find_library(libraries, framework.library);
    const bool is_new = std::find(known.begin(), known.end(), framework.name) == known.end();
    if (library != nullptr && !library->path.empty() && is_new) {
      add(frameworks, look_at(framework, library->path, linker, dropin));
    }
  }
}

}  // namespace

ProgramFacts read_program_facts(const std::string& program, const std::string& dropin) {
  ProgramFacts facts{.program = program,
                     .file = {},
                     .interpreter = {},
                     .mounts = {},
                     .libraries = {},
                     .error = {},
                     .dropin = dropin + "/libibverbs.so.1",
                     .frameworks = {}};
  facts.file = find_program(program).value_or("");
  if (facts.file.empty()) return facts;
  facts.interpreter = script_interpreter(facts.file).value_or("");
  const fs::path& loaded = facts.interpreter.empty() ? facts.file : facts.interpreter;
  facts.obstacle = find_obstacle(loaded);
  facts.is_go = is_go_program(loaded);
  facts.calls_kernel_itself = calls_kernel_itself(loaded);
  if (facts.calls_kernel_itself) facts.mounts = probe_mount_namespace();
  if (facts.obstacle != Obstacle::kNone) return facts;
  const auto linker = dynamic_linker(loaded);
  facts.is_program = linker.has_value();
  if (!linker) return facts;
  auto libraries = loaded_libraries(*linker, loaded, dropin);
  if (!libraries) {
    facts.error = libraries.error().message;
    return facts;
  }
  facts.libraries = std::move(libraries).value();
  add_frameworks(facts.libraries, *linker, dropin, facts.frameworks);
  // Those above another one: Open MPI's part loads UCX.
  for (std::size_t i = 0; i < facts.frameworks.size(); ++i) {
    add_frameworks(std::vector(facts.frameworks[i].loads), *linker, dropin, facts.frameworks);
  }
  return facts;
}

}  // namespace urnic::tools
