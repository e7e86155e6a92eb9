// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/kernel_engine.h"

#include <memory>
#include <string>
#include <string_view>

namespace shardwright::test {

/// Whether the linked libonnx says of what other operators this one is made.
bool hasFunctionBody(const std::string& domain, const std::string& op, int opset);

/// A serialised model with each such node of its main graph taken apart, once.
std::string withBodies(std::string_view model);

/// An engine that runs such operators through that body: for those without a kernel.
std::unique_ptr<KernelEngine> withFunctionBodies(std::unique_ptr<KernelEngine> engine);

}  // namespace shardwright::test
