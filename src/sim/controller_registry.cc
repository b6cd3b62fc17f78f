#include "sim/controller_registry.h"

#include "sim/writer_controller.h"

namespace evenkeel::sim {

const std::map<std::string, ControllerMaker>& SimulatedControllers() {
  static const std::map<std::string, ControllerMaker> makers = {
      {"writer",
       [](const ControllerContext& context) {
         return NewWriterController(
             context.user, context.random.Fork("writer"),
             [&writes = context.writes](const std::string& member, const std::string& author, int64_t counter) {
               writes.Acknowledged(member, author, counter);
             });
       }},
  };
  return makers;
}

}  // namespace evenkeel::sim
