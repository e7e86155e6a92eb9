// SPDX-License-Identifier: Apache-2.0
#include "comm/classify.h"

#include "model/saturating.h"

#include <algorithm>
#include <map>
#include <set>

namespace shardwright {

namespace {

using Boxes = std::vector<const Box*>;

bool isIn(DeviceId device, const DeviceGroup& devices) {
    return std::binary_search(devices.begin(), devices.end(), device);
}

bool sameBoxes(const Boxes& a, const Boxes& b) {
    if (a.size() != b.size())
        return false;
    return std::all_of(a.begin(), a.end(), [&](const Box* box) {
        return std::any_of(b.begin(), b.end(), [&](const Box* other) { return *box == *other; });
    });
}

bool disjoint(const Boxes& a, const Boxes& b) {
    for (const Box* x : a)
        for (const Box* y : b)
            if (!x->intersect(*y).empty())
                return false;
    return true;
}

/// Who sends what to whom, from the parts of one group.
struct Traffic {
    std::map<std::pair<DeviceId, DeviceId>, std::map<int, Boxes>>
        boxes;  ///< (from, to) -> term -> boxes.
    std::map<DeviceId, Boxes>
        received;  ///< Of one term (all terms of a reduction cover the same target).
    std::map<DeviceId, std::set<DeviceId>> sendsTo, receivesFrom;  ///< Without itself.
    std::map<DeviceId, std::set<int>> terms;                       ///< By sender.
    std::set<DeviceId> senders, receivers;  ///< Including to and from itself.
    bool local = false;                     ///< Some part stays.
    int firstTerm = 0;

    explicit Traffic(const GroupOperation& group) {
        firstTerm = group.parts.front().term;
        for (const Part& part : group.parts)
            firstTerm = std::min(firstTerm, part.term);
        for (const Part& part : group.parts) {
            boxes[{part.from, part.to}][part.term].push_back(&part.box);
            if (part.term == firstTerm)
                received[part.to].push_back(&part.box);
            terms[part.from].insert(part.term);
            senders.insert(part.from);
            receivers.insert(part.to);
            if (part.from == part.to) {
                local = true;
                continue;
            }
            sendsTo[part.from].insert(part.to);
            receivesFrom[part.to].insert(part.from);
        }
    }
};

bool isReduction(const GroupOperation& group) {
    return std::any_of(group.parts.begin(), group.parts.end(),
                       [&](const Part& p) { return p.term != group.parts.front().term; });
}

bool receiversAgree(const Traffic& t) {
    return std::all_of(t.received.begin(), t.received.end(), [&](const auto& entry) {
        return sameBoxes(entry.second, t.received.begin()->second);
    });
}

bool receiversDisjoint(const Traffic& t) {
    for (auto a = t.received.begin(); a != t.received.end(); ++a)
        for (auto b = std::next(a); b != t.received.end(); ++b)
            if (!disjoint(a->second, b->second))
                return false;
    return true;
}

/// Every sender gives every receiver the same terms, each over all that the receiver wants.
bool contributesEverywhere(const Traffic& t) {
    for (const DeviceId from : t.senders)
        for (const DeviceId to : t.receivers) {
            const auto it = t.boxes.find({from, to});
            if (it == t.boxes.end() || it->second.size() != t.terms.at(from).size())
                return false;
            for (const auto& [term, boxes] : it->second)
                if (!sameBoxes(boxes, t.received.at(to)))
                    return false;
        }
    return true;
}

/// Who sends no term must have had an empty share of the sum: it contributes the identity.
bool allContribute(const GroupOperation& group, const Traffic& t, const DeviceGroup& sources) {
    return std::all_of(group.devices.begin(), group.devices.end(), [&](DeviceId device) {
        return t.senders.count(device) > 0 || isIn(device, sources);
    });
}

CollectiveKind classifyReduction(const GroupOperation& group, const Traffic& t,
                                 const DeviceGroup& sources, const DeviceGroup& targets) {
    if (t.received.size() != t.receivers.size() || !contributesEverywhere(t))
        return CollectiveKind::Region;
    if (t.receivers.size() == 1)
        return CollectiveKind::Reduce;
    if (!allContribute(group, t, sources))
        return CollectiveKind::Region;
    if (t.receivers.size() == group.devices.size() && receiversAgree(t))
        return CollectiveKind::AllReduce;
    // Whoever receives nothing must have an empty shard of the result.
    const bool covered = std::all_of(group.devices.begin(), group.devices.end(),
                                     [&](DeviceId d) { return isIn(d, targets); });
    return covered && receiversDisjoint(t) ? CollectiveKind::ReduceScatter : CollectiveKind::Region;
}

CollectiveKind classifyOneSender(const Traffic& t) {
    const DeviceId root = t.sendsTo.begin()->first;
    const bool rootKeeps = t.received.count(root) > 0;
    for (const auto& [to, from] : t.receivesFrom)
        if (t.boxes.count({to, to}) > 0)
            return CollectiveKind::Region;
    const bool single = t.receivesFrom.size() == 1;
    if (receiversDisjoint(t) && (!single || rootKeeps))
        return CollectiveKind::Scatter;
    if (receiversAgree(t) && (!single || rootKeeps))
        return CollectiveKind::Broadcast;
    return single && !rootKeeps ? CollectiveKind::Send : CollectiveKind::Region;
}

bool isAllGather(const GroupOperation& group, const Traffic& t, const DeviceGroup& sources) {
    if (t.receivers.size() != group.devices.size())
        return false;
    for (const DeviceId device : group.devices)
        if (!isIn(device, sources))
            return false;
    const DeviceId first = *t.receivers.begin();
    for (const DeviceId from : t.senders) {
        const auto reference = t.boxes.find({from, first});
        if (reference == t.boxes.end())
            return false;
        for (const DeviceId to : t.receivers) {
            const auto it = t.boxes.find({from, to});
            if (it == t.boxes.end() ||
                !sameBoxes(it->second.begin()->second, reference->second.begin()->second))
                return false;
        }
    }
    return true;
}

bool isAllToAll(const GroupOperation& group, const Traffic& t) {
    if (t.senders.size() != group.devices.size() || t.receivers.size() != group.devices.size())
        return false;
    for (const DeviceId from : group.devices)
        for (const DeviceId to : group.devices)
            if (t.boxes.count({from, to}) == 0)
                return false;
    return receiversDisjoint(t);
}

bool isPermutation(const Traffic& t) {
    if (t.local)
        return false;
    const auto one = [](const auto& entry) { return entry.second.size() == 1; };
    return std::all_of(t.sendsTo.begin(), t.sendsTo.end(), one) &&
           std::all_of(t.receivesFrom.begin(), t.receivesFrom.end(), one);
}

}  // namespace

CollectiveKind classify(const GroupOperation& group, const DeviceGroup& sourceDevices,
                        const DeviceGroup& targetDevices) {
    const Traffic traffic(group);
    if (isReduction(group))
        return classifyReduction(group, traffic, sourceDevices, targetDevices);
    if (traffic.sendsTo.size() == 1)
        return classifyOneSender(traffic);
    if (isPermutation(traffic))
        return CollectiveKind::Permute;
    if (isAllGather(group, traffic, sourceDevices))
        return CollectiveKind::AllGather;
    if (isAllToAll(group, traffic))
        return CollectiveKind::AllToAll;
    return CollectiveKind::Region;
}

std::int64_t elementsOf(const GroupOperation& group) {
    const int term =
        std::min_element(group.parts.begin(), group.parts.end(), [](const Part& a, const Part& b) {
            return a.term < b.term;
        })->term;
    std::map<DeviceId, std::int64_t> received;
    std::int64_t moved = 0, total = 0;
    for (const Part& part : group.parts) {
        const std::int64_t count = part.box.count();
        moved = saturatingSum(moved, part.from != part.to ? count : 0);
        if (part.term != term)
            continue;
        received[part.to] = saturatingSum(received[part.to], count);
        total = saturatingSum(total, count);
    }
    std::int64_t largest = 0;
    for (const auto& [device, count] : received)
        largest = std::max(largest, count);
    switch (group.kind) {
        case CollectiveKind::AllReduce:
        case CollectiveKind::AllGather:
        case CollectiveKind::Reduce:
        case CollectiveKind::Broadcast: return largest;
        case CollectiveKind::ReduceScatter:
        case CollectiveKind::AllToAll:
        case CollectiveKind::Scatter: return total;
        default: return moved;
    }
}

}  // namespace shardwright
