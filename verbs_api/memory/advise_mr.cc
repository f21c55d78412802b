// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Advice about regions with on-demand paging.
#include <cerrno>

#include "verbs_api/abi/object_registry.h"
#include "verbs_api/abi/operations.h"
#include "verbs_api/abi/untrusted_enum.h"
#include "verbs_api/device/context.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/memory/pd.h"

namespace urnic::verbs_api {

using Prefetch = nic::Device::Prefetch;

namespace {

struct Advice {
  unsigned int number;
  Prefetch meaning;
};
constexpr Advice kAdvice[] = {{IBV_ADVISE_MR_ADVICE_PREFETCH, Prefetch::kRead},
                              {IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, Prefetch::kWrite},
                              {IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, Prefetch::kPresentOnly}};

}  // namespace

// It is done when the call returns, whether or not the flag asks for that.
int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* elements,
              std::uint32_t count) noexcept {
  if (const int fault = objects().check(pd); fault != 0) return fault;
  const Context& owner = Context::of(pd->context);
  if ((flags & ~static_cast<std::uint32_t>(IBV_ADVISE_MR_FLAG_FLUSH)) != 0) return EINVAL;
  if (elements == nullptr || count == 0) return EINVAL;
  for (const Advice& known : kAdvice) {
    if (known.number != number_in(advice)) continue;
    for (std::uint32_t i = 0; i < count; ++i) {
      const ibv_sge& element = elements[i];
      const auto done = owner.nic().prefetch_memory(*Pd::of(pd).inner, element.lkey, element.addr,
                                                    element.length, known.meaning);
      if (!done) return explain("advise_mr", done.error());
    }
    return 0;
  }
  return ENOTSUP;
}

}  // namespace urnic::verbs_api
