// SPDX-License-Identifier: Apache-2.0
#include "run/exchange_program.h"

#include "model/shapes.h"
#include "run/string_pool.h"

#include <algorithm>
#include <numeric>
#include <set>

// How parts become a call. The parts of an exchange are in one order that all devices see, so both
// ends of a message put the boxes of its parts one after the other in that order. In a reduction
// all devices contribute the same boxes, those of the first term; a device with several terms joins
// them before it sends.

namespace shardwright {

namespace {

using Boxes = std::vector<const Box*>;

class TransferBuilder {
public:
    TransferBuilder(const DeviceProgram& program, std::int32_t elementType)
        : m_program(program), m_bits(elementBits(storedType(elementType))) {
        m_transfer.elementType = storedType(elementType);
    }

    Result<DeviceTransfer> build(const Exchange& exchange) {
        const GroupOperation& operation = exchange.operation;
        const auto at =
            std::find(operation.devices.begin(), operation.devices.end(), m_program.device);
        const auto rank = static_cast<std::size_t>(at - operation.devices.begin());
        if (at == operation.devices.end() || rank >= exchange.sources.size() ||
            rank >= exchange.targets.size())
            return fail("device is not in the group of its exchange");
        m_operation = &operation;
        m_sources = &exchange.sources[rank];
        m_transfer.exchange = &exchange;
        m_transfer.kind = operation.kind;
        m_transfer.reduce = operation.reduce;
        m_transfer.targets = exchange.targets[rank];
        m_firstTerm = operation.parts.empty() ? 0 : operation.parts.front().term;
        for (const Part& part : operation.parts)
            m_firstTerm = std::min(m_firstTerm, part.term);
        findRoot();
        addParts();
        return finish();
    }

    Result<DeviceTransfer> build(const DeviceProgram::LocalCopy& copy) {
        m_sources = &copy.sources;
        m_transfer.targets = {copy.target};
        m_transfer.reduce = copy.reduce;
        m_transfer.joinDeliveries = copy.reduce != ReduceKind::None;
        const LocalTensor& target = tensor(copy.target);
        for (const int source : copy.sources) {
            const Box region = tensor(source).box.intersect(target.box);
            if (!region.empty())
                deliver(source, 0, tensor(source).box, region, copy.target, tensor(source).term);
        }
        return finish();
    }

private:
    static Error fail(const std::string& what) {
        return Error{"the plan cannot be run: " + what, {}};
    }
    const LocalTensor& tensor(int index) const {
        return m_program.tensors[static_cast<std::size_t>(index)];
    }
    DeviceId self() const { return m_program.device; }
    std::size_t bytesOf(const Box& box) const {
        return static_cast<std::size_t>((box.count() * m_bits + 7) / 8);
    }
    std::size_t bytesOf(const Boxes& boxes) const {
        std::size_t bytes = 0;
        for (const Box* box : boxes)
            bytes += bytesOf(*box);
        return bytes;
    }

    void findRoot() {
        for (const Part& part : m_operation->parts) {
            if (m_operation->kind == CollectiveKind::Reduce)
                m_transfer.root = part.to;
            else if (part.from != part.to)
                m_transfer.root = part.from;
        }
        if (m_operation->kind != CollectiveKind::Reduce &&
            m_operation->kind != CollectiveKind::Broadcast &&
            m_operation->kind != CollectiveKind::Scatter)
            m_transfer.root = -1;
    }

    Boxes boxesTo(DeviceId to) const {  // Of the first term.
        Boxes boxes;
        for (const Part& part : m_operation->parts)
            if (part.to == to && part.term == m_firstTerm)
                boxes.push_back(&part.box);
        return boxes;
    }
    Boxes boxesBetween(DeviceId from, DeviceId to) const {
        Boxes boxes;
        for (const Part& part : m_operation->parts)
            if (part.from == from && part.to == to)
                boxes.push_back(&part.box);
        return boxes;
    }
    std::set<int> ownTerms() const {
        std::set<int> terms;
        for (const Part& part : m_operation->parts)
            if (part.from == self())
                terms.insert(part.term);
        return terms;
    }

    void note(const Result<RegionCopy>& copy) {
        if (!copy && !m_failed) {
            m_failed = true;
            m_error = fail(copy.error().message);
        }
    }

    /// Fills `box` of the message at `offset` from the local tensors that hold this term of it.
    void pack(const Box& box, int term, std::size_t offset) {
        std::int64_t covered = 0;
        for (const int source : *m_sources) {
            const LocalTensor& held = tensor(source);
            if (held.term != term || covered == box.count())
                continue;
            const Box region = held.box.intersect(box);
            if (region.empty())
                continue;
            auto copy = RegionCopy::make(held.box, box, region, m_bits);
            note(copy);
            if (copy)
                m_transfer.packs.push_back({source, offset, term, std::move(*copy)});
            covered += region.count();
        }
        if (covered != box.count() && !m_failed) {
            m_failed = true;
            m_error = fail("device " + std::to_string(self()) + " does not hold what it sends");
        }
    }
    std::size_t packAll(const Boxes& boxes, int term, std::size_t offset) {
        for (const Box* box : boxes) {
            pack(*box, term, offset);
            offset += bytesOf(*box);
        }
        return offset;
    }

    void deliver(int source, std::size_t offset, const Box& held, const Box& region, int target,
                 int term) {
        auto copy = RegionCopy::make(held, tensor(target).box, region, m_bits);
        note(copy);
        if (copy)
            m_transfer.deliveries.push_back({source, offset, target, term, std::move(*copy)});
    }
    /// Takes `box` of the received message into every target that overlaps it.
    void unpack(const Box& box, int term, std::size_t offset) {
        for (const int target : m_transfer.targets) {
            const Box region = tensor(target).box.intersect(box);
            if (!region.empty())
                deliver(-1, offset, box, region, target, term);
        }
    }
    std::size_t unpackAll(const Boxes& boxes, std::size_t offset) {
        for (const Box* box : boxes) {
            unpack(*box, 0, offset);
            offset += bytesOf(*box);
        }
        return offset;
    }

    void addParts() {
        switch (m_operation->kind) {
            case CollectiveKind::AllReduce:
            case CollectiveKind::Reduce: addReduction(); break;
            case CollectiveKind::ReduceScatter: addReduceScatter(); break;
            case CollectiveKind::AllGather: addAllGather(); break;
            case CollectiveKind::AllToAll: addAllToAll(); break;
            case CollectiveKind::Broadcast: addBroadcast(); break;
            case CollectiveKind::Scatter: addScatter(); break;
            default: addMessages();
        }
    }

    void addReduction() {
        const bool toRoot = m_operation->kind == CollectiveKind::Reduce;
        const Boxes boxes = boxesTo(toRoot ? m_transfer.root : m_operation->devices.front());
        for (const int term : ownTerms())
            packAll(boxes, term, 0);
        m_transfer.takesPart = !toRoot || !ownTerms().empty();
        m_transfer.sendBytes = m_transfer.takesPart ? bytesOf(boxes) : 0;
        if (!toRoot || self() == m_transfer.root)
            m_transfer.receiveBytes = unpackAll(boxes, 0);
    }

    void addReduceScatter() {
        for (const DeviceId device : m_operation->devices)
            m_transfer.counts.push_back(bytesOf(boxesTo(device)));
        for (const int term : ownTerms()) {
            std::size_t offset = 0;
            for (const DeviceId device : m_operation->devices)
                offset = packAll(boxesTo(device), term, offset);
        }
        m_transfer.sendBytes =
            std::accumulate(m_transfer.counts.begin(), m_transfer.counts.end(), std::size_t{0});
        m_transfer.receiveBytes = unpackAll(boxesTo(self()), 0);
    }

    void addAllGather() {
        const DeviceId any = m_operation->devices.front();
        for (const DeviceId device : m_operation->devices) {
            const Boxes boxes = boxesBetween(device, any);
            m_transfer.counts.push_back(bytesOf(boxes));
            m_transfer.receiveBytes = unpackAll(boxes, m_transfer.receiveBytes);
        }
        m_transfer.sendBytes = packAll(boxesBetween(self(), any), 0, 0);
    }

    void addAllToAll() {
        for (const DeviceId device : m_operation->devices) {
            const Boxes out = boxesBetween(self(), device), in = boxesBetween(device, self());
            m_transfer.counts.push_back(bytesOf(out));
            m_transfer.receiveCounts.push_back(bytesOf(in));
            m_transfer.sendBytes = packAll(out, 0, m_transfer.sendBytes);
            m_transfer.receiveBytes = unpackAll(in, m_transfer.receiveBytes);
        }
    }

    void addBroadcast() {
        if (self() != m_transfer.root) {
            m_transfer.receiveBytes = unpackAll(boxesBetween(m_transfer.root, self()), 0);
            return;
        }
        for (const Part& part : m_operation->parts)
            if (part.to != self()) {
                m_transfer.sendBytes = packAll(boxesBetween(self(), part.to), 0, 0);
                break;
            }
        addLocalParts();
    }

    void addScatter() {
        for (const DeviceId device : m_operation->devices) {
            const Boxes boxes = boxesBetween(m_transfer.root, device);
            m_transfer.counts.push_back(bytesOf(boxes));
            if (self() == m_transfer.root)
                m_transfer.sendBytes = packAll(boxes, 0, m_transfer.sendBytes);
        }
        m_transfer.receiveBytes = unpackAll(boxesBetween(m_transfer.root, self()), 0);
    }

    void addMessages() {
        m_transfer.joinDeliveries = m_operation->reduce != ReduceKind::None;
        for (const DeviceId peer : m_operation->devices) {
            if (peer == self())
                continue;
            DeviceTransfer::Message out{peer, m_transfer.sendBytes, 0},
                in{peer, m_transfer.receiveBytes, 0};
            for (const Part& part : m_operation->parts) {
                if (part.from == self() && part.to == peer) {
                    pack(part.box, part.term, m_transfer.sendBytes);
                    m_transfer.sendBytes += bytesOf(part.box);
                } else if (part.from == peer && part.to == self()) {
                    unpack(part.box, part.term, m_transfer.receiveBytes);
                    m_transfer.receiveBytes += bytesOf(part.box);
                }
            }
            out.bytes = m_transfer.sendBytes - out.offset;
            in.bytes = m_transfer.receiveBytes - in.offset;
            if (out.bytes > 0)
                m_transfer.sends.push_back(out);
            if (in.bytes > 0)
                m_transfer.receives.push_back(in);
        }
        addLocalParts();
    }

    void addLocalParts() {
        for (const Part& part : m_operation->parts) {
            if (part.from != self() || part.to != self())
                continue;
            for (const int source : *m_sources)
                for (const int target : m_transfer.targets) {
                    if (tensor(source).term != part.term)
                        continue;
                    const Box region =
                        tensor(source).box.intersect(part.box).intersect(tensor(target).box);
                    if (!region.empty())
                        deliver(source, 0, tensor(source).box, region, target, part.term);
                }
        }
    }

    /// Whether a message with these pieces is a tensor of `bytes` bytes as it lies.
    template <class Piece>
    static bool inPlace(const Piece& piece, bool fromTensor) {
        std::size_t runs = 0, tensorOffset = 0, messageOffset = 0;
        piece.copy.forEachRun([&](std::size_t from, std::size_t to, std::size_t) {
            ++runs;
            tensorOffset = fromTensor ? from : to;
            messageOffset = (fromTensor ? to : from) + piece.offset;
        });
        return runs == 1 && tensorOffset == messageOffset;
    }

    Result<DeviceTransfer> finish() {
        if (m_failed)
            return m_error;
        DeviceTransfer& t = m_transfer;
        const auto byTerm = [](const auto& a, const auto& b) { return a.term < b.term; };
        std::stable_sort(t.packs.begin(), t.packs.end(), byTerm);
        std::stable_sort(t.deliveries.begin(), t.deliveries.end(), byTerm);
        if (!t.exchange || m_bits % 8 != 0)
            return std::move(t);
        const auto sizeOf = [&](int index) { return bytesOf(tensor(index).box); };
        if (!t.packs.empty() && sizeOf(t.packs.front().tensor) == t.sendBytes &&
            std::all_of(t.packs.begin(), t.packs.end(), [&](const auto& p) {
                return p.tensor == t.packs.front().tensor && inPlace(p, true);
            }))
            t.sendTensor = t.packs.front().tensor;
        if (t.targets.size() == 1 && !t.joinDeliveries && !t.deliveries.empty() &&
            sizeOf(t.targets[0]) == t.receiveBytes &&
            std::all_of(t.deliveries.begin(), t.deliveries.end(),
                        [&](const auto& d) { return d.tensor < 0 && inPlace(d, false); }))
            t.receiveTensor = t.targets[0];
        return std::move(t);
    }

    const DeviceProgram& m_program;
    const int m_bits;
    const GroupOperation* m_operation = nullptr;
    const std::vector<int>* m_sources = nullptr;
    int m_firstTerm = 0;
    DeviceTransfer m_transfer;
    bool m_failed = false;
    Error m_error;
};

}  // namespace

Result<DeviceTransfer> makeTransfer(const Exchange& exchange, const DeviceProgram& program) {
    return TransferBuilder(program, exchange.elementType).build(exchange);
}

Result<DeviceTransfer> makeTransfer(const DeviceProgram::LocalCopy& copy,
                                    const DeviceProgram& program) {
    const std::int32_t type = program.tensors[static_cast<std::size_t>(copy.target)].elementType;
    return TransferBuilder(program, type).build(copy);
}

std::string describe(const Exchange& exchange) {
    std::string text = collectiveName(exchange.operation.kind) + " between devices";
    const DeviceGroup& devices = exchange.operation.devices;
    for (std::size_t i = 0; i < devices.size(); ++i)
        text += (i == 0                    ? " "
                 : i + 1 == devices.size() ? " and "
                                           : ", ") +
                std::to_string(devices[i]);
    return text;
}

}  // namespace shardwright
