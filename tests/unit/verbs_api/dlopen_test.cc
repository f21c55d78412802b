// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Programs that are not linked with libibverbs and look for it at run time, as NCCL does.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

namespace urnic::test {
namespace {

/// The names that NCCL cannot do without, all of version IBVERBS_1.1.
constexpr const char* kMandatory[] = {
    "ibv_get_device_list", "ibv_free_device_list", "ibv_get_device_name", "ibv_open_device",
    "ibv_close_device",    "ibv_get_async_event",  "ibv_ack_async_event", "ibv_query_device",
    "ibv_query_port",      "ibv_query_gid",        "ibv_query_qp",        "ibv_alloc_pd",
    "ibv_dealloc_pd",      "ibv_reg_mr",           "ibv_dereg_mr",        "ibv_create_cq",
    "ibv_destroy_cq",      "ibv_create_qp",        "ibv_modify_qp",       "ibv_destroy_qp",
    "ibv_fork_init",       "ibv_event_type_str",
};

/// And those that it uses when they are there.
struct OptionalName {
  const char* name;
  const char* version;
};
constexpr OptionalName kOptional[] = {
    {"ibv_reg_mr_iova2", "IBVERBS_1.8"},
    {"ibv_query_ece", "IBVERBS_1.10"},
    {"ibv_set_ece", "IBVERBS_1.10"},
    {"ibv_reg_dmabuf_mr", "IBVERBS_1.12"},
};

class OpenedByName : public testing::TestWithParam<const char*> {};

TEST_P(OpenedByName, HasTheVersionedNames) {
  void* const library = dlopen(GetParam(), RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  for (const char* const name : kMandatory) EXPECT_NE(dlvsym(library, name, "IBVERBS_1.1"), nullptr) << name;
  for (const OptionalName& optional : kOptional) {
    EXPECT_NE(dlvsym(library, optional.name, optional.version), nullptr) << optional.name;
  }
  dlclose(library);
}

// "libibverbs.so" first: were it not there, the system's would be found where development packages are
// installed.
INSTANTIATE_TEST_SUITE_P(Dlopen, OpenedByName,
                         testing::Values(URNIC_LIBRARY_DIR "/libibverbs.so",
                                         URNIC_LIBRARY_DIR "/libibverbs.so.1"));

}  // namespace
}  // namespace urnic::test
