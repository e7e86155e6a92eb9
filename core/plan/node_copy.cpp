// SPDX-License-Identifier: Apache-2.0
#include "plan/node_copy.h"

#include "plan/weights.h"

#include <memory>
#include <set>
#include <vector>

namespace shardwright::lowering {

namespace {

void readInline(onnx::TensorProto& tensor, const std::filesystem::path& folder) {
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL)
        return;
    const std::vector<std::int64_t> shape(tensor.dims().begin(), tensor.dims().end());
    onnx::TensorProto read = cutTensor(tensor, Box::whole(shape), folder);
    read.set_name(tensor.name());
    tensor = std::move(read);
}

void readInline(onnx::SparseTensorProto& tensor, const std::filesystem::path& folder) {
    if (tensor.has_values())
        readInline(*tensor.mutable_values(), folder);
    if (tensor.has_indices())
        readInline(*tensor.mutable_indices(), folder);
}

/// Nested bodies on an explicit stack: files decide how deep they go.
class BodyCleaner {
public:
    BodyCleaner(const std::filesystem::path& folder, const Seeds& seeds)
        : m_folder(folder), m_seeds(seeds) {}

    void push(onnx::NodeProto& node, const std::shared_ptr<const Renames>& renames) {
        for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
            if (attribute.has_t())
                readInline(*attribute.mutable_t(), m_folder);
            for (onnx::TensorProto& tensor : *attribute.mutable_tensors())
                readInline(tensor, m_folder);
            if (attribute.has_sparse_tensor())
                readInline(*attribute.mutable_sparse_tensor(), m_folder);
            for (onnx::SparseTensorProto& tensor : *attribute.mutable_sparse_tensors())
                readInline(tensor, m_folder);
            if (attribute.has_g())
                m_stack.push_back({attribute.mutable_g(), renames});
            for (onnx::GraphProto& graph : *attribute.mutable_graphs())
                m_stack.push_back({&graph, renames});
        }
    }

    void run() {
        while (!m_stack.empty()) {
            const Item item = m_stack.back();
            m_stack.pop_back();
            clean(item);
        }
    }

private:
    struct Item {
        onnx::GraphProto* graph;
        std::shared_ptr<const Renames> renames;
    };

    static void rename(std::string& name, const Renames& renames) {
        const auto it = renames.find(name);
        if (it != renames.end())
            name = it->second;
    }

    /// Names that the graph defines itself hide outer ones.
    static std::shared_ptr<const Renames> visible(const Item& item) {
        if (item.renames->empty())
            return item.renames;
        auto visible = std::make_shared<Renames>(*item.renames);
        for (const auto& input : item.graph->input())
            visible->erase(input.name());
        for (const auto& initializer : item.graph->initializer())
            visible->erase(initializer.name());
        for (const auto& initializer : item.graph->sparse_initializer())
            visible->erase(initializer.values().name());
        for (const auto& node : item.graph->node())
            for (const auto& output : node.output())
                visible->erase(output);
        return visible;
    }

    void clean(const Item& item) {
        const auto renames = visible(item);
        for (onnx::TensorProto& tensor : *item.graph->mutable_initializer())
            readInline(tensor, m_folder);
        for (onnx::SparseTensorProto& tensor : *item.graph->mutable_sparse_initializer())
            readInline(tensor, m_folder);
        std::set<std::string> names;
        for (onnx::NodeProto& node : *item.graph->mutable_node()) {
            cleanNode(node, names);
            m_seeds.set(node, node);
            for (std::string& input : *node.mutable_input())
                rename(input, *renames);
            push(node, renames);
        }
        for (onnx::ValueInfoProto& output : *item.graph->mutable_output())
            rename(*output.mutable_name(), *renames);
    }

public:
    static void cleanNode(onnx::NodeProto& node, std::set<std::string>& names) {
        node.clear_device_configurations();
        if (node.name().empty())
            return;
        const std::string base = node.name();
        for (int number = 2; !names.insert(node.name()).second; ++number)
            node.set_name(base + "_" + std::to_string(number));
    }

private:
    const std::filesystem::path& m_folder;
    const Seeds& m_seeds;
    std::vector<Item> m_stack;
};

}  // namespace

onnx::NodeProto copyNode(const onnx::NodeProto& node, const std::filesystem::path& folder,
                         const Seeds& seeds, const Renames& renames) {
    onnx::NodeProto copy;
    copy.set_name(node.name());
    copy.set_op_type(node.op_type());
    copy.set_domain(node.domain());
    if (node.has_overload())
        copy.set_overload(node.overload());
    *copy.mutable_attribute() = node.attribute();
    seeds.set(copy, node);
    BodyCleaner cleaner(folder, seeds);
    cleaner.push(copy, std::make_shared<const Renames>(renames));
    cleaner.run();
    return copy;
}

onnx::FunctionProto copyFunction(const onnx::FunctionProto& function,
                                 const std::filesystem::path& folder, const Seeds& seeds) {
    onnx::FunctionProto copy = function;
    const Seeds own = seeds.with(function);
    BodyCleaner cleaner(folder, own);
    const auto none = std::make_shared<const Renames>();
    std::set<std::string> names;
    for (onnx::NodeProto& node : *copy.mutable_node()) {
        BodyCleaner::cleanNode(node, names);
        own.set(node, node);
        cleaner.push(node, none);
    }
    cleaner.run();
    return copy;
}

}  // namespace shardwright::lowering
