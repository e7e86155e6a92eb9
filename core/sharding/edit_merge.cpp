// SPDX-License-Identifier: Apache-2.0
//
// Steps replace whole things: a node's annotation, the list of configurations. Edits that were made
// for the same document therefore undo each other when they follow one another. Here a step is
// taken as the difference to that document, part by part: the spec of one tensor, the stage, one
// configuration.

#include "sharding/edit.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <map>
#include <utility>

namespace shardwright {

namespace {

using Entry = onnx::NodeDeviceConfigurationProto;
using Declaration = onnx::DeviceConfigurationProto;

/// Names may repeat; the k-th of a name in one list is the k-th of that name in another.
using Key = std::pair<std::string, int>;

template <class List, class NameOf>
std::vector<Key> keysOf(const List& list, NameOf nameOf) {
    std::vector<Key> keys;
    std::map<std::string, int> seen;
    for (const auto& item : list)
        keys.emplace_back(nameOf(item), seen[nameOf(item)]++);
    return keys;
}

template <class List>
auto itemAt(const List& list, const std::vector<Key>& keys, const Key& key) -> decltype(&list[0]) {
    const auto found = std::find(keys.begin(), keys.end(), key);
    return found == keys.end() ? nullptr : &list[static_cast<int>(found - keys.begin())];
}

template <class Message>
bool same(const Message* a, const Message* b) {
    return a && b ? a->SerializeAsString() == b->SerializeAsString() : a == b;
}

/// The items of `present` with what `wanted` changes of `base`. `mergeItem` joins an item that all
/// three have; what is new comes last.
template <class Message, class List, class NameOf, class MergeItem>
std::vector<Message> mergeLists(const List& base, const List& present, const List& wanted,
                                NameOf nameOf, MergeItem mergeItem) {
    const auto baseKeys = keysOf(base, nameOf), presentKeys = keysOf(present, nameOf),
               wantedKeys = keysOf(wanted, nameOf);
    std::vector<Message> merged;
    for (std::size_t i = 0; i < presentKeys.size(); ++i) {
        const Message& item = present[static_cast<int>(i)];
        const Message* before = itemAt(base, baseKeys, presentKeys[i]);
        const Message* after = itemAt(wanted, wantedKeys, presentKeys[i]);
        if (same(before, after))
            merged.push_back(item);
        else if (after)
            merged.push_back(before ? mergeItem(*before, item, *after) : *after);
    }
    for (std::size_t i = 0; i < wantedKeys.size(); ++i) {
        const Message& item = wanted[static_cast<int>(i)];
        // Kept as it was there, it has been taken away meanwhile.
        if (!itemAt(present, presentKeys, wantedKeys[i]) &&
            !same(itemAt(base, baseKeys, wantedKeys[i]), &item))
            merged.push_back(item);
    }
    return merged;
}

Entry mergeEntry(const Entry& base, const Entry& present, const Entry& wanted) {
    const auto bare = [](const Entry& entry) {
        Entry copy = entry;
        copy.clear_sharding_spec();
        return copy;
    };
    const Entry before = bare(base), after = bare(wanted);
    Entry merged = same(&before, &after) ? bare(present) : after;
    const auto specs = mergeLists<onnx::ShardingSpecProto>(
        base.sharding_spec(), present.sharding_spec(), wanted.sharding_spec(),
        [](const onnx::ShardingSpecProto& spec) { return spec.tensor_name(); },
        [](const auto&, const auto&, const auto& last) { return last; });
    merged.mutable_sharding_spec()->Add(specs.begin(), specs.end());
    return merged;
}

/// Lists with an index of type int, as repeated fields have.
template <class Message>
struct View {
    const std::vector<Message>& list;
    const Message& operator[](int i) const { return list[static_cast<std::size_t>(i)]; }
    auto begin() const { return list.begin(); }
    auto end() const { return list.end(); }
};

class Merger {
public:
    explicit Merger(const Annotations& base) : m_base(base), m_present(base) {}

    void take(const Edit& edit) {
        // Steps of one edit follow one another, so that the last of a node is what it wants.
        Annotations wanted = m_base;
        apply(wanted, edit);
        for (const EditStep& step : edit.steps)
            std::visit([&](const auto& s) { takeStep(s, wanted); }, step);
    }

    Edit steps(std::string title) const {
        Edit edit{std::move(title), {}};
        if (m_configurations)
            edit.steps.push_back(SetConfigurations{
                std::make_shared<const std::vector<Declaration>>(m_present.configurations)});
        for (const auto& [key, step] : m_metadata)
            edit.steps.push_back(step);
        for (const auto& [node, merged] : m_nodes)
            edit.steps.push_back(SetNodeAnnotation{NodeId(node), merged});
        if (m_present.irVersion != m_base.irVersion)
            edit.steps.push_back(SetIrVersion{m_present.irVersion});
        return edit;
    }

private:
    static const NodeAnnotation& at(const Annotations& annotations, std::size_t node) {
        static const NodeAnnotation none;
        return node < annotations.nodes.size() && annotations.nodes[node] ? *annotations.nodes[node]
                                                                          : none;
    }

    void takeStep(const SetNodeAnnotation& step, const Annotations& wanted) {
        const std::size_t node = step.node.index();
        const auto known = m_nodes.find(node);
        static const NodeAnnotation none;
        const NodeAnnotation& present = known == m_nodes.end() ? at(m_base, node)
                                        : known->second        ? *known->second
                                                               : none;
        using List = View<Entry>;
        auto merged = mergeLists<Entry>(
            List{at(m_base, node)}, List{present}, List{at(wanted, node)},
            [](const Entry& entry) { return entry.configuration_id(); }, mergeEntry);
        m_nodes[node] =
            merged.empty() ? nullptr : std::make_shared<const NodeAnnotation>(std::move(merged));
    }

    void takeStep(const SetConfigurations&, const Annotations& wanted) {
        using List = View<Declaration>;
        m_present.configurations = mergeLists<Declaration>(
            List{m_base.configurations}, List{m_present.configurations},
            List{wanted.configurations}, [](const Declaration& d) { return d.name(); },
            [](const auto&, const auto&, const auto& last) { return last; });
        m_configurations = true;
    }

    void takeStep(const SetMetadata& step, const Annotations&) { m_metadata[step.key] = step; }
    void takeStep(const SetIrVersion& step, const Annotations&) {
        m_present.irVersion = step.version;
    }

    const Annotations& m_base;
    Annotations m_present;  ///< Its configurations and version; nodes are in m_nodes.
    std::map<std::size_t, std::shared_ptr<const NodeAnnotation>> m_nodes;
    std::map<std::string, SetMetadata> m_metadata;
    bool m_configurations = false;
};

}  // namespace

Edit mergeEdits(const Annotations& base, std::string title, const std::vector<Edit>& edits) {
    Merger merger(base);
    for (const Edit& edit : edits)
        merger.take(edit);
    return merger.steps(std::move(title));
}

}  // namespace shardwright
