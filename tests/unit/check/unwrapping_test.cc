// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Tunnels, fragments and doubled frames that mean harm: what is bounded stays bounded. tests/check has honest
// ones, which tshark confirms.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "tests/unit/check/capture_edit.h"
#include "tools/conformance/check/unwrapping/doubles.h"
#include "tools/conformance/check/unwrapping/unwrapper.h"

namespace urnic::check::test {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::initializer_list<unsigned> values) {
  Bytes bytes;
  for (const unsigned value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

Bytes joined(Bytes first, const Bytes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Bytes roce_frame() {
  return Capture::fixture("vs_sizes")[5].bytes;
}

Bytes with_u16(Bytes bytes, std::size_t at, std::size_t value) {
  bytes.at(at) = static_cast<std::byte>(value >> 8);
  bytes.at(at + 1) = static_cast<std::byte>(value & 0xff);
  return bytes;
}

/// A frame in an IPv4 datagram of this protocol, on Ethernet.
Bytes in_ipv4(unsigned protocol, const Bytes& payload) {
  Bytes header = bytes_of({2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0});
  header =
      joined(header, bytes_of({0x45, 0, 0, 0, 0, 9, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2}));
  return joined(with_u16(header, 16, 20 + payload.size()), payload);
}

Bytes in_gre(const Bytes& frame) {
  return in_ipv4(47, joined(bytes_of({0, 0, 0x65, 0x58}), frame));
}

Bytes in_vxlan(const Bytes& frame) {
  const Bytes header = bytes_of({0xc0, 0, 0x12, 0xb5, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 5, 0});
  return in_ipv4(17, joined(with_u16(header, 4, 16 + frame.size()), frame));
}

Unwrapped look(Unwrapper& unwrapper, const Bytes& bytes, std::int64_t time_ns = 0) {
  return unwrapper.look(LinkType::kEthernet, bytes, time_ns);
}

TEST(Tunnels, InEachOtherAreLookedIntoUpToALimit) {
  Bytes frame = roce_frame();
  for (int tunnels = 1; tunnels <= Unwrapper::kMostTunnels + 3; ++tunnels) {
    frame = in_gre(frame);
    Unwrapper unwrapper;
    const Unwrapped found = look(unwrapper, frame);
    EXPECT_EQ(found.frame.has_value(), tunnels <= Unwrapper::kMostTunnels) << tunnels;
    EXPECT_EQ(found.obstacle == Obstacle::kTooDeep, tunnels > Unwrapper::kMostTunnels) << tunnels;
  }
}

TEST(Tunnels, ThatEndEarlyHaveNothingBeyondTheirEnd) {
  const Bytes plain = roce_frame();
  for (const Bytes& whole : {in_gre(plain), in_vxlan(plain), in_gre(in_vxlan(plain))}) {
    for (std::size_t size = 0; size <= whole.size(); ++size) {
      const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      Unwrapper unwrapper;
      const Unwrapped found = look(unwrapper, cut);
      if (found.frame) {
        EXPECT_EQ(found.frame->is_cut(), size < whole.size()) << size;
        EXPECT_LE(found.frame->ib.data() + found.frame->ib.size(), cut.data() + size);
      }
    }
  }
}

TEST(Tunnels, OfLabelsWithoutEndAreLeft) {
  Bytes frame = bytes_of({2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0x47});
  for (int label = 0; label < 400; ++label) frame = joined(frame, bytes_of({0, 1, 0, 64}));
  Unwrapper unwrapper;
  EXPECT_EQ(look(unwrapper, frame).obstacle, Obstacle::kTooDeep);
}

/// One fragment of a datagram of 20 zeros and more from 10.0.0.1.
Bytes fragment(unsigned identification, std::size_t offset, const Bytes& payload, bool more) {
  Bytes frame = with_u16(in_ipv4(17, payload), 18, identification);
  return with_u16(frame, 20, offset / 8 | (more ? 0x2000u : 0u));
}

TEST(Fragments, WithoutTheRestAreForgottenAndCounted) {
  Unwrapper unwrapper;
  constexpr unsigned kMany = 5000;
  for (unsigned id = 0; id < kMany; ++id) look(unwrapper, fragment(id, 0, Bytes(64), true));
  EXPECT_EQ(unwrapper.fragments().incomplete(), kMany);
  EXPECT_EQ(unwrapper.fragments().completed(), 0u);
  // The first one was given up: its end alone does not make it whole.
  look(unwrapper, fragment(0, 64, Bytes(8), false));
  EXPECT_EQ(unwrapper.fragments().completed(), 0u);
  // The last one waits.
  look(unwrapper, fragment(kMany - 1, 64, Bytes(8), false));
  EXPECT_EQ(unwrapper.fragments().completed(), 1u);
}

TEST(Fragments, OfLongAgoAreOfAnotherDatagram) {
  Unwrapper unwrapper;
  look(unwrapper, fragment(7, 0, Bytes(64), true), 0);
  look(unwrapper, fragment(7, 64, Bytes(8), false), Fragments::kLongestWaitNs + 1);
  EXPECT_EQ(unwrapper.fragments().completed(), 0u);
}

TEST(Fragments, ThatOverlapAreNotPutTogether) {
  const Bytes ones(24, std::byte{1});
  struct Second {
    std::size_t offset;
    Bytes payload;
    bool more;
  };
  for (const Second& second : std::vector<Second>{{8, ones, false}, {0, ones, true}, {16, ones, true}}) {
    Unwrapper unwrapper;
    look(unwrapper, fragment(7, 0, Bytes(24), true));
    look(unwrapper, fragment(7, second.offset, second.payload, second.more));
    EXPECT_EQ(unwrapper.fragments().completed(), 0u);
    EXPECT_EQ(unwrapper.fragments().incomplete(), 2u) << "the first was given up, the second waits";
  }
}

TEST(Fragments, BeyondTheLongestDatagramAreLeft) {
  Unwrapper unwrapper;
  look(unwrapper, fragment(7, 65528, Bytes(64), false));
  look(unwrapper, fragment(7, 0, Bytes(20), true));  // 20 is no multiple of 8
  EXPECT_EQ(unwrapper.fragments().incomplete(), 0u);
}

/// The frames of a capture that are copies of others.
std::size_t copies_in(const std::vector<CapturedFrame>& frames, bool is_mirrored) {
  Doubles doubles(is_mirrored);
  std::size_t copies = 0;
  for (const CapturedFrame& frame : frames) {
    const auto parsed = parse_frame(LinkType::kEthernet, frame.bytes);
    copies += parsed && doubles.is_copy(*parsed, frame.time_ns) ? 1 : 0;
  }
  return copies;
}

bool are_usual_in(const std::vector<CapturedFrame>& frames) {
  Doubles doubles;
  for (const CapturedFrame& frame : frames) {
    doubles.is_copy(*parse_frame(LinkType::kEthernet, frame.bytes), frame.time_ns);
  }
  return doubles.are_usual();
}

std::vector<CapturedFrame> with_copies(const std::vector<CapturedFrame>& frames, std::size_t every,
                                       std::int64_t after_ns) {
  std::vector<CapturedFrame> result;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    result.push_back(frames[i]);
    if (i % every != 0) continue;
    result.push_back(frames[i]);
    result.back().time_ns += after_ns;
  }
  return result;
}

TEST(Doubles, AreUsualOnlyWhereAlmostAllFramesHaveOne) {
  const std::vector<CapturedFrame> plain = Capture::fixture("vs_loss_both").frames();
  EXPECT_FALSE(are_usual_in(plain));
  EXPECT_TRUE(are_usual_in(with_copies(plain, 1, 2000)));
  EXPECT_FALSE(are_usual_in(with_copies(plain, 2, 2000)));
  EXPECT_FALSE(are_usual_in(Capture::fixture("vs_duplicate").frames()));
}

TEST(Doubles, AreCopiesFromTheFirstOneOnWhereTheyAreKnownToBe) {
  const std::vector<CapturedFrame> plain = Capture::fixture("vs_loss_both").frames();
  const auto mirrored = with_copies(plain, 1, 2000);
  EXPECT_EQ(copies_in(mirrored, true), plain.size());
  // Otherwise the first ones of both ways only show it.
  EXPECT_EQ(copies_in(mirrored, false), plain.size() - 2 * Doubles::kCertain);
  EXPECT_EQ(copies_in(with_copies(plain, 2, 2000), false), 0u) << "the network's";
}

TEST(Doubles, AreNotFarApart) {
  const std::vector<CapturedFrame> plain = Capture::fixture("vs_tos").frames();
  EXPECT_EQ(copies_in(with_copies(plain, 1, Doubles::kMostApartNs + 1), true), 0u);
}

TEST(Doubles, MayComeFromAndGoToOneAddress) {
  Capture capture = Capture::fixture("vs_tos");
  for (std::size_t number = 1; number <= capture.size(); ++number) {
    for (std::size_t at = 0; at < 4; ++at) {
      capture.edit(number).ip_byte(12 + at, 10).ip_byte(16 + at, 10).ip_byte(4, 0).ip_byte(5, 0);
    }
    capture.edit(number).seal();
  }
  EXPECT_EQ(copies_in(with_copies(capture.frames(), 1, 0), true), capture.size());
}

// A CRC of bytes with their CRC would be the same for all of one length.
TEST(Doubles, AreNotFramesOfOneLengthThatDiffer) {
  Capture capture = Capture::fixture("ib_read_bw");
  for (std::size_t number = 1; number <= capture.size(); ++number) {
    capture.edit(number).ip_byte(4, 0).ip_byte(5, 0).seal();
  }
  std::vector<CapturedFrame> frames = capture.frames();
  for (CapturedFrame& frame : frames) frame.time_ns = 0;
  EXPECT_GT(frames.size(), 50u);
  EXPECT_EQ(copies_in(frames, true), 0u);
}

// Its datagrams all have the same identification, so that a repetition is the same frame.
TEST(Doubles, ARepetitionAfterAnAnswerIsNone) {
  Capture capture = Capture::fixture("vs_tos");
  for (std::size_t number = 1; number <= capture.size(); ++number) {
    capture.edit(number).ip_byte(4, 0).ip_byte(5, 0).seal();
  }
  const CapturedFrame request = capture[1];
  const CapturedFrame answer = capture[2];
  std::vector<CapturedFrame> frames = {request, answer, request};
  frames[1].time_ns = request.time_ns + 5000;
  frames[2].time_ns = request.time_ns + 9000;
  EXPECT_EQ(copies_in(frames, true), 0u);
  std::swap(frames[1], frames[2]);
  EXPECT_EQ(copies_in(frames, true), 1u);
}

}  // namespace
}  // namespace urnic::check::test
