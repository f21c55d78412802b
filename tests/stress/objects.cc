// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/stress/objects.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

namespace urnic::stress {

Objects::Objects() {
  int count = 0;
  ibv_device** const list = ibv_get_device_list(&count);
  if (list != nullptr && count > 0) context = ibv_open_device(list[0]);
  ibv_free_device_list(list);
  if (context == nullptr) throw std::runtime_error("there is no device");
  // No thread waits for an event that may never come.
  fcntl(context->async_fd, F_SETFL, O_NONBLOCK);
  imported = ibv_import_device(dup(context->cmd_fd));
  if (imported == nullptr) throw std::runtime_error("the device cannot be imported");
  xrc_file = memfd_create("xrc", MFD_CLOEXEC);
}

std::vector<const char*> Objects::take_apart() {
  std::vector<const char*> left;
  const auto note = [&left](const char* what, std::size_t count) {
    if (count > 0) left.push_back(what);
  };
  ibv_gid group{};
  std::memcpy(group.raw, kGroup.data(), kGroup.size());
  const auto unimport = [](auto how) {
    return [how](auto* object) {
      how(object);
      return 0;
    };
  };
  note("imported memory regions", imported_mrs.destroy_all(unimport(ibv_unimport_mr)));
  note("imported device memory", imported_dms.destroy_all(unimport(ibv_unimport_dm)));
  note("imported protection domains", imported_pds.destroy_all(unimport(ibv_unimport_pd)));
  note("flow rules", flows.destroy_all([](ibv_flow* flow) { return ibv_destroy_flow(flow); }));
  note("queue pairs for frames", frame_qps.destroy_all(ibv_destroy_qp));
  note("indirection tables",
       tables.destroy_all([](ibv_rwq_ind_table* table) { return ibv_destroy_rwq_ind_table(table); }));
  note("work queues", wqs.destroy_all([](ibv_wq* wq) { return ibv_destroy_wq(wq); }));
  note("XRC targets", targets.destroy_all(ibv_destroy_qp));
  note("XRC domains", xrcds.destroy_all([](ibv_xrcd* domain) { return ibv_close_xrcd(domain); }));
  note("queue pairs", qps.destroy_all([&](ibv_qp* qp) {
    ibv_detach_mcast(qp, &group, 0);
    return ibv_destroy_qp(qp);
  }));
  note("address handles", ahs.destroy_all(ibv_destroy_ah));
  note("memory windows", mws.destroy_all([](ibv_mw* mw) { return ibv_dealloc_mw(mw); }));
  note("memory regions", mrs.destroy_all(ibv_dereg_mr));
  note("device memory", dms.destroy_all([](ibv_dm* dm) { return ibv_free_dm(dm); }));
  note("shared receive queues", srqs.destroy_all(ibv_destroy_srq));
  note("completion queues", cqs.destroy_all(ibv_destroy_cq));
  note("completion channels", channels.destroy_all(ibv_destroy_comp_channel));
  note("protection domains", pds.destroy_all(ibv_dealloc_pd));
  if (ibv_close_device(imported) != 0) left.push_back("the imported context");
  if (ibv_close_device(context) != 0) left.push_back("the context");
  close(xrc_file);
  return left;
}

}  // namespace urnic::stress
