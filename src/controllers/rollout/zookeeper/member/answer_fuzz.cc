// Any bytes as the answers of a server: what is read makes sense, whatever comes.
#include <cstddef>
#include <cstdint>

#include "controllers/rollout/zookeeper/member/answer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel;
  namespace member = controllers::rollout::zookeeper::member;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // A leader, so that all three are read, unless the text itself is about something else.
  const member::Words leader{"Zxid: 0x1\nMode: leader\n", "zk_server_state\tleader\n" + std::string(text), std::string(text)};
  for (const member::Words& words : {leader, member::Words{std::string(text), "", ""}}) {
    const auto answer = member::ReadAnswer(words);
    if (!answer) continue;
    EVENKEEL_CHECK(answer->synced_voters >= -1);
    EVENKEEL_CHECK(answer->mode == member::Mode::kLeader || answer->synced_voters == -1);
    for (size_t i = 0; i < answer->servers.size(); ++i) {
      const member::ServerLine& server = answer->servers[i];
      EVENKEEL_CHECK(server.id >= 1 && server.id <= 255 && (i == 0 || answer->servers[i - 1].id < server.id));
      const auto again = member::ParseServerLine(server.text);
      EVENKEEL_CHECK(again && *again == server);
    }
  }
  return 0;
}
