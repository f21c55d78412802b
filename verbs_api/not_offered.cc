// Verbs that exist and are not offered: objects of other processes.
#include <cerrno>

#include "verbs_api/failure.h"
#include "verbs_api/libibverbs.h"

using urnic::verbs_api::fail;

extern "C" {

ibv_context* ibv_import_device(int) {
  return fail(EOPNOTSUPP);
}
ibv_pd* ibv_import_pd(ibv_context*, uint32_t) {
  return fail(EOPNOTSUPP);
}
ibv_mr* ibv_import_mr(ibv_pd*, uint32_t) {
  return fail(EOPNOTSUPP);
}
ibv_dm* ibv_import_dm(ibv_context*, uint32_t) {
  return fail(EOPNOTSUPP);
}
void ibv_unimport_pd(ibv_pd*) {}
void ibv_unimport_mr(ibv_mr*) {}
void ibv_unimport_dm(ibv_dm*) {}

}  // extern "C"
