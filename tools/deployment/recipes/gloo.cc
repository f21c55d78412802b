// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// One process of Gloo's allreduce: rank, number of ranks, and a folder in which all of them meet.
#include <gloo/allreduce_ring.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/ibverbs/device.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

int main(int, char** argv) {
  const int rank = std::atoi(argv[1]);
  const int size = std::atoi(argv[2]);
  gloo::transport::ibverbs::attr attributes;
  attributes.name = "urnic0";
  attributes.port = 1;
  attributes.index = 0;  // of the GID
  gloo::rendezvous::FileStore store(argv[3]);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
  auto device = gloo::transport::ibverbs::CreateDevice(attributes);
  context->connectFullMesh(store, device);

  std::vector<float> numbers(1 << 20, static_cast<float>(rank + 1));
  gloo::AllreduceRing<float> allreduce(context, {numbers.data()}, static_cast<int>(numbers.size()));
  allreduce.run();
  for (const float number : numbers) {
    if (number != static_cast<float>(size * (size + 1) / 2)) std::abort();
  }
  std::printf("rank %d has the sum\n", rank);
  sleep(1);  // Gloo aborts when it ends before its last completion has come
}
