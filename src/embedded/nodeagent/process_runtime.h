// Containers as local processes of this machine. There is no isolation: a pod's program is a child process with the user's
// rights.
//
// A pod has a directory <state_dir>/pods/<uid>: root/ with its volumes at their mount paths (EVENKEEL_POD_ROOT names it; a
// working directory is taken inside it), volumes/ with their files, logs/ with what its containers wrote. Claims live in
// <state_dir>/claims and outlive their pods. The environment is HOSTNAME, HOME, EVENKEEL_POD_ROOT, PATH (which begins with the
// directory of this very program, so that the command `evenkeel` is found) and the pod's own. Real time only.
#pragma once

#include <memory>
#include <string>

#include "base/executor.h"
#include "embedded/nodeagent/container_runtime.h"

namespace evenkeel::embedded::nodeagent {

struct ProcessRuntimeOptions {
  std::string state_dir;               ///< owned by one agent; made when it is not there
  base::Executor* executor = nullptr;  ///< runs network probes, each container's on a strand of its own
  std::string program;                 ///< what pods find as "evenkeel", first in PATH; empty: this program
  Environment extra_env;               ///< for every container, e.g. KUBERNETES_SERVICE_HOST
  int64_t log_rotate_bytes = 10 << 20;
};

/// kInternal, kForbidden when the directory or the supervisor cannot be made. Destroying it kills all processes.
base::Result<std::unique_ptr<ContainerRuntime>> NewProcessRuntime(ProcessRuntimeOptions options);

}  // namespace evenkeel::embedded::nodeagent
