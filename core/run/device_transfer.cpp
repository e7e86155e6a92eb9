// SPDX-License-Identifier: Apache-2.0
// The part of DeviceRunner that packs, calls the communicator and unpacks.
#include "model/shapes.h"
#include "run/device_runner.h"
#include "run/reduce.h"

#include <algorithm>

namespace shardwright {

namespace {

BufferView partOf(BufferView whole, std::size_t offset, std::size_t bytes) {
    return {whole.data + offset, bytes, whole.elementType, whole.memory};
}

BufferView retyped(BufferView view, std::int32_t elementType, std::size_t bytes) {
    return {view.data, bytes, elementType, view.memory};
}

}  // namespace

Result<void> DeviceRunner::ensureScratch(Buffer& scratch, std::size_t bytes) {
    if (scratch && scratch.bytes() >= bytes)
        return {};
    auto storage = m_engine->allocate(bytes);
    if (!storage)
        return Error{"no memory for a message of " + std::to_string(bytes) + " bytes",
                     "device " + std::to_string(m_program.device)};
    m_pool.hold(bytes - scratch.bytes());
    scratch = Buffer(std::move(storage), onnx::TensorProto::UINT8,
                     {static_cast<std::int64_t>(bytes)}, m_engine->memory());
    return {};
}

Result<void> DeviceRunner::packMessage(const DeviceTransfer& transfer) {
    if (auto room = ensureScratch(m_send, transfer.sendBytes); !room)
        return room;
    const int firstTerm = transfer.packs.empty() ? 0 : transfer.packs.front().term;
    const bool reduces = transfer.kind <= CollectiveKind::ReduceScatter;
    // Without a term of its own (an empty shard) it contributes the identity.
    const bool several =
        reduces &&
        (transfer.packs.empty() ? transfer.sendBytes > 0 : transfer.packs.back().term != firstTerm);
    const std::int32_t wide = accumulatorType(transfer.elementType);
    const auto size = static_cast<std::size_t>(std::max(8, elementBits(transfer.elementType)) / 8);
    const auto wideSize = static_cast<std::size_t>(std::max(8, elementBits(wide)) / 8);
    if (several) {
        // Join this device's own terms first, unrounded.
        const std::size_t bytes = transfer.sendBytes / size * wideSize;
        if (auto room = ensureScratch(m_joined, bytes); !room)
            return room;
        m_engine->fillIdentity(transfer.reduce, retyped(m_joined.view(), wide, bytes));
    }
    for (const DeviceTransfer::Pack& pack : transfer.packs) {
        if (!buffer(pack.tensor))
            return Error{"the plan sends tensor `" + tensor(pack.tensor).name +
                             "` before anything has written it",
                         {}};
        const Buffer& source = buffer(pack.tensor);
        if (several) {
            BufferView sum = partOf(m_joined.view(), pack.offset / size * wideSize,
                                    pack.copy.bytes() / size * wideSize);
            sum.elementType = wide;
            m_engine->accumulateRegion(transfer.reduce, pack.copy, source.view(), sum);
        } else {
            m_engine->copyRegion(pack.copy, source.view(), m_send.data() + pack.offset);
        }
    }
    if (several)
        m_engine->roundAccumulator(
            retyped(m_joined.view(), wide, transfer.sendBytes / size * wideSize),
            retyped(m_send.view(), transfer.elementType, transfer.sendBytes));
    return {};
}

Result<void> DeviceRunner::call(const DeviceTransfer& transfer) {
    CollectiveCall call;
    call.kind = transfer.kind;
    call.reduce = transfer.reduce;
    call.devices = &transfer.exchange->operation.devices;
    call.root = transfer.root;
    call.counts = transfer.counts;
    call.receiveCounts = transfer.receiveCounts;
    call.stream = m_engine->stream();
    BufferView send = transfer.sendTensor >= 0 ? buffer(transfer.sendTensor).view() : m_send.view();
    BufferView receive =
        transfer.receiveTensor >= 0 ? buffer(transfer.receiveTensor).view() : m_receive.view();
    send.elementType = receive.elementType = transfer.elementType;
    if (transfer.kind >= CollectiveKind::Permute) {
        m_sendMessages.clear();
        m_receiveMessages.clear();
        for (const auto& message : transfer.sends)
            m_sendMessages.push_back({message.peer, partOf(send, message.offset, message.bytes)});
        for (const auto& message : transfer.receives)
            m_receiveMessages.push_back(
                {message.peer, partOf(receive, message.offset, message.bytes)});
        call.sends = m_sendMessages;
        call.receives = m_receiveMessages;
    } else {
        // Who has nothing to send or to receive passes no buffer.
        const bool sends = transfer.sendBytes > 0 || transfer.kind == CollectiveKind::AllReduce;
        const bool receives =
            transfer.receiveBytes > 0 || transfer.kind == CollectiveKind::AllReduce;
        if (sends && transfer.takesPart)
            call.send = partOf(send, 0, transfer.sendBytes);
        if (receives)
            call.receive = partOf(receive, 0, transfer.receiveBytes);
        call.send.elementType = call.receive.elementType = transfer.elementType;
    }
    return m_communicator->run(call);
}

Result<void> DeviceRunner::joinInto(const DeviceTransfer& transfer, int target) {
    Buffer& out = buffer(target);
    const std::int32_t wide = accumulatorType(out.elementType());
    const auto bytes = static_cast<std::size_t>(storageBytes(wide, out.count()));
    BufferView sum = out.view();
    if (wide != out.elementType()) {
        if (auto room = ensureScratch(m_joined, bytes); !room)
            return room;
        sum = retyped(m_joined.view(), wide, bytes);
    }
    if (!canReduce(transfer.reduce, out.elementType()))
        return Error{"cannot join " + elementTypeName(out.elementType()) + " by " +
                         reduceKindName(transfer.reduce),
                     "tensor `" + tensor(target).name + "`"};
    m_engine->fillIdentity(transfer.reduce, sum);
    for (const DeviceTransfer::Delivery& delivery : transfer.deliveries) {
        if (delivery.target != target)
            continue;
        ConstBufferView source =
            delivery.tensor >= 0 ? buffer(delivery.tensor).view() : m_receive.view();
        source.data += delivery.offset;
        source.elementType = out.elementType();
        m_engine->accumulateRegion(transfer.reduce, delivery.copy, source, sum);
    }
    if (wide != out.elementType())
        m_engine->roundAccumulator(sum, out.view());
    return {};
}

Result<void> DeviceRunner::deliver(const DeviceTransfer& transfer) {
    for (const int target : transfer.targets)
        if (auto there = ensure(target); !there)
            return there;
    for (const DeviceTransfer::Delivery& delivery : transfer.deliveries)
        if (delivery.tensor >= 0 && !buffer(delivery.tensor))
            return Error{"the plan copies tensor `" + tensor(delivery.tensor).name +
                             "` before anything has written it",
                         {}};
    if (transfer.joinDeliveries) {
        for (const int target : transfer.targets)
            if (auto joined = joinInto(transfer, target); !joined)
                return joined;
        return {};
    }
    for (const DeviceTransfer::Delivery& delivery : transfer.deliveries) {
        ConstBufferView source =
            delivery.tensor >= 0 ? buffer(delivery.tensor).view() : m_receive.view();
        source.data += delivery.offset;
        m_engine->copyRegion(delivery.copy, source, buffer(delivery.target).data());
    }
    return {};
}

Result<void> DeviceRunner::transfer(const DeviceTransfer& transfer) {
    if (transfer.sendTensor < 0) {
        if (auto packed = packMessage(transfer); !packed)
            return packed;
    } else if (!buffer(transfer.sendTensor)) {
        return Error{"the plan sends tensor `" + tensor(transfer.sendTensor).name +
                         "` before anything has written it",
                     {}};
    }
    if (transfer.receiveTensor < 0) {
        if (auto room = ensureScratch(m_receive, transfer.receiveBytes); !room)
            return room;
    } else if (auto there = ensure(transfer.receiveTensor); !there) {
        return there;
    }
    if (auto called = call(transfer); !called)
        return called;
    return transfer.receiveTensor >= 0 ? Result<void>{} : deliver(transfer);
}

}  // namespace shardwright
