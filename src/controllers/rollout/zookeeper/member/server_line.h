// A line of an ensemble's list of servers: "server.11=HOST:2888:3888:participant;2181".
// Source: ZooKeeper's administrator's guide, "Cluster Options" and "Dynamic Reconfiguration".
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace evenkeel::controllers::rollout::zookeeper::member {

struct ServerLine {
  int64_t id = 0;
  std::string host;  ///< the first, where the line has several
  int quorum_port = 0, election_port = 0;
  bool observer = false;
  std::string client_host;  ///< "" or "0.0.0.0": every address
  int client_port = 0;      ///< 0: the line names none
  std::string text;         ///< the whole line

  bool operator==(const ServerLine&) const = default;
};

/// kBadRequest says what is wrong: of the form, an id that is not from 1 to 255, a port that is not from 1 to 65535.
base::Result<ServerLine> ParseServerLine(std::string_view line);
/// All of them, by id; kBadRequest also for two of the same id.
base::Result<std::vector<ServerLine>> ParseServerLines(const std::vector<std::string>& lines);

/// Null when there is none.
const ServerLine* FindServer(const std::vector<ServerLine>& servers, int64_t id);
std::set<int64_t> VotersOf(const std::vector<ServerLine>& servers);

}  // namespace evenkeel::controllers::rollout::zookeeper::member
