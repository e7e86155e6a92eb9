// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace onnx {
class NodeProto;
}

namespace shardwright {

/// Scopes deeper than this are joined into the last component, so that a name made of slashes costs
/// no more than its length.
inline constexpr std::size_t kMaxScopeDepth = 32;

/// Components of a path, empty ones dropped: "/m/layers.0/MatMul" gives m, layers.0, MatMul.
std::vector<std::string> splitPath(std::string_view path);

/// Scopes in the `pkg.torch.onnx.name_scopes` text of PyTorch's exporter: a Python list of dotted
/// module paths, each the former's extension, the last one the node's own: "['', 'm', 'm.encoder',
/// 'm.encoder.layer.0', 'add_3']" gives m, encoder, layer.0. Empty where the text is not such a
/// list.
std::vector<std::string> scopesFromNameList(std::string_view text);

/// Scopes in the `namespace` text: "name: type" parts joined by '/', the names as above. Parts
/// without a type are scopes as they stand, all of them.
std::vector<std::string> scopesFromNamespace(std::string_view text);

/// The scope that a node's metadata, name or first output name gives, in this order; empty where
/// none does.
std::vector<std::string> scopesOfNode(const onnx::NodeProto& node);

/// A node's name without its scope: what follows the last '/'. The operator type where that is
/// empty.
std::string_view ownName(const onnx::NodeProto& node);

}  // namespace shardwright
