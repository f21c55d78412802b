// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/rdma_cm/port_question.h"

#include "nic/process/may_wait.h"

namespace urnic::nic::rdma_cm {

PortAnswer ask(SharedHost& host, const PortQuestion& question) {
  assert_may_wait();
  const PortTable::Binding& binding = question.binding;
  if (question.kind == PortQuestion::Kind::kBind) return host.bind(question.space, binding);
  if (auto listens = host.listen(question.space, binding.address.port, binding.id); !listens) {
    return listens.error();
  }
  return binding.address.port;
}

}  // namespace urnic::nic::rdma_cm
