// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/events.pb.h"
#include "run/run_events.h"

// Plain values to protobuf messages and back. Only for run_events.cpp.

namespace shardwright::wire {

Request toMessage(const RunRequest& request);
RunRequest fromMessage(const Request& message);
Event toMessage(const RunEvent& event);
RunEvent fromMessage(const Event& message);  ///< Of a message whose event is set.

}  // namespace shardwright::wire
