// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a connection's peer is told if this process is killed.
#include "nic/cm/farewell_keeper.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <variant>

#include "tests/unit/nic/cm/manager_fixture.h"

namespace urnic::nic::cm {
namespace {

class KeptFarewells final : public FarewellKeeper {
 public:
  void keep(CommunicationId id, const Farewell& farewell) override { kept_[id] = farewell; }
  void forget(CommunicationId id) override { kept_.erase(id); }

  /// "DREQ"; "" for nothing.
  std::string text_of(CommunicationId id) const {
    const auto found = kept_.find(id);
    return found == kept_.end() ? "" : brief(mad_of(id));
  }
  Mad mad_of(CommunicationId id) const { return std::get<Mad>(parse(kept_.at(id).mad.bytes)); }
  const MadPath& path_of(CommunicationId id) const { return kept_.at(id).mad.path; }
  const Farewell& farewell_of(CommunicationId id) const { return kept_.at(id); }
  std::size_t size() const { return kept_.size(); }

 private:
  std::map<CommunicationId, Farewell> kept_;
};

struct Kept {
  explicit Kept(Position position) {
    conversation.manager().use(keeper);
    conversation.go_to(position);
  }
  KeptFarewells keeper;
  Conversation conversation;
};

/// SIDR has no connection: its peer asks again, and hears that there is no such service.
bool is_of_connections(Position position) {
  return position != Position::kSidrReqSent && position != Position::kSidrReqReceived &&
         position != Position::kSidrAnswered;
}

TEST(FarewellKeeper, HasWhatReleasingTheConnectionWouldSay) {
  for (const Position position : kAllPositions) {
    if (!is_of_connections(position)) continue;
    SCOPED_TRACE(name_of(position));
    Kept kept(position);
    const std::string farewell = kept.keeper.text_of(kept.conversation.id());
    if (position == Position::kDreqSentActive || position == Position::kDreqSentPassive) {
      EXPECT_EQ(farewell, "DREQ") << "that was sent may be lost";
      continue;
    }
    kept.conversation.manager().release(kept.conversation.id(), kept.conversation.now());
    EXPECT_EQ(farewell, kept.conversation.sent_text());
  }
}

TEST(FarewellKeeper, SaysToThePeerWhichConnectionItIs) {
  Kept kept(Position::kEstablishedPassive);
  const CommunicationId id = kept.conversation.id();
  const Dreq dreq = std::get<Dreq>(kept.keeper.mad_of(id).message);
  EXPECT_EQ(dreq.local_id, id);
  EXPECT_EQ(dreq.remote_id, Conversation::kPeerId);
  EXPECT_EQ(dreq.remote_qp, Conversation::kPeerQp);
  EXPECT_EQ(kept.keeper.path_of(id).destination, kept.conversation.arrival().source);
  EXPECT_EQ(kept.keeper.path_of(id).source, kept.conversation.arrival().destination);
}

// The program that repeats a DREQ waits as long as the process would have.
TEST(FarewellKeeper, SaysWhetherADreqWasSentAndHowLongItsAnswerMayTake) {
  Kept established(Position::kEstablishedActive);
  const Farewell& unsent = established.keeper.farewell_of(established.conversation.id());
  EXPECT_FALSE(unsent.was_sent);
  EXPECT_GT(unsent.pause, std::chrono::seconds(4)) << "as our REQ says";
  Kept disconnecting(Position::kDreqSentActive);
  const Farewell& sent = disconnecting.keeper.farewell_of(disconnecting.conversation.id());
  EXPECT_TRUE(sent.was_sent);
  EXPECT_EQ(sent.pause, unsent.pause);
  Kept asked(Position::kReqReceived);
  EXPECT_EQ(asked.keeper.farewell_of(asked.conversation.id()).pause, transport::Duration::zero());
}

TEST(FarewellKeeper, ForgetsConnectionsThatAreOver) {
  for (const Position position : {Position::kTimewaitActive, Position::kTimewaitPassive,
                                  Position::kRequestRejected, Position::kReplyRejected}) {
    SCOPED_TRACE(name_of(position));
    EXPECT_EQ(Kept(position).keeper.size(), 0u);
  }
}

}  // namespace
}  // namespace urnic::nic::cm
