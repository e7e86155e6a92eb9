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

Result<void> DeviceRunner::packMessage(const DeviceTransfer& transfer, Buffer& message) {
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
            m_engine->copyRegion(pack.copy, source.view(), message.data() + pack.offset);
        }
    }
    if (several)
        m_engine->roundAccumulator(
            retyped(m_joined.view(), wide, transfer.sendBytes / size * wideSize),
            retyped(message.view(), transfer.elementType, transfer.sendBytes));
    return {};
}

CollectiveCall DeviceRunner::callOf(PhaseExchange& exchange) {
    const DeviceTransfer& transfer = exchange.transfer;
    CollectiveCall call;
    call.kind = transfer.kind;
    call.reduce = transfer.reduce;
    call.devices = &transfer.exchange->operation.devices;
    call.root = transfer.root;
    call.counts = transfer.counts;
    call.receiveCounts = transfer.receiveCounts;
    call.stream = m_engine->stream();
    BufferView send =
        transfer.sendTensor >= 0 ? buffer(transfer.sendTensor).view() : exchange.send.view();
    BufferView receive = transfer.receiveTensor >= 0 ? buffer(transfer.receiveTensor).view()
                                                     : exchange.receive.view();
    send.elementType = receive.elementType = transfer.elementType;
    if (transfer.kind >= CollectiveKind::Permute) {
        exchange.sends.clear();
        exchange.receives.clear();
        for (const auto& message : transfer.sends)
            exchange.sends.push_back({message.peer, partOf(send, message.offset, message.bytes)});
        for (const auto& message : transfer.receives)
            exchange.receives.push_back(
                {message.peer, partOf(receive, message.offset, message.bytes)});
        call.sends = exchange.sends;
        call.receives = exchange.receives;
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
    return call;
}

Result<void> DeviceRunner::joinInto(const DeviceTransfer& transfer, const Buffer& received,
                                    int target) {
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
        ConstBufferView source = delivery.tensor >= 0
                                     ? ConstBufferView(buffer(delivery.tensor).view())
                                     : received.view();
        source.data += delivery.offset;
        source.elementType = out.elementType();
        m_engine->accumulateRegion(transfer.reduce, delivery.copy, source, sum);
    }
    if (wide != out.elementType())
        m_engine->roundAccumulator(sum, out.view());
    return {};
}

Result<void> DeviceRunner::deliver(const DeviceTransfer& transfer, const Buffer& received) {
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
            if (auto joined = joinInto(transfer, received, target); !joined)
                return joined;
        return {};
    }
    for (const DeviceTransfer::Delivery& delivery : transfer.deliveries) {
        ConstBufferView source = delivery.tensor >= 0
                                     ? ConstBufferView(buffer(delivery.tensor).view())
                                     : received.view();
        source.data += delivery.offset;
        m_engine->copyRegion(delivery.copy, source, buffer(delivery.target).data());
    }
    return {};
}

Result<void> DeviceRunner::pack(PhaseExchange& exchange) {
    const DeviceTransfer& transfer = exchange.transfer;
    const auto room = [&](std::size_t bytes, Buffer& message) -> Result<void> {
        auto taken = m_pool.take(onnx::TensorProto::UINT8, {static_cast<std::int64_t>(bytes)});
        if (!taken)
            return Error{taken.error().message, "device " + std::to_string(m_program.device)};
        message = std::move(*taken);
        return {};
    };
    if (transfer.sendTensor < 0) {
        if (auto there = room(transfer.sendBytes, exchange.send); !there)
            return there;
        if (auto packed = packMessage(transfer, exchange.send); !packed)
            return packed;
    } else if (!buffer(transfer.sendTensor)) {
        return Error{"the plan sends tensor `" + tensor(transfer.sendTensor).name +
                         "` before anything has written it",
                     {}};
    }
    return transfer.receiveTensor < 0 ? room(transfer.receiveBytes, exchange.receive)
                                      : ensure(transfer.receiveTensor);
}

Result<void> DeviceRunner::startExchanges(int phase) {
    m_calls.clear();
    for (PhaseExchange& exchange : m_exchanges[static_cast<std::size_t>(phase)]) {
        if (auto packed = pack(exchange); !packed)
            return placed(packed.error(), phase, exchange);
        if (const Exchange& meant = *exchange.transfer.exchange;
            m_strings && isString(meant.elementType))
            if (auto shared = m_communicator->shareStrings(meant.operation.devices, *m_strings);
                !shared)
                return placed(shared.error(), phase, exchange);
        m_calls.push_back(callOf(exchange));
    }
    return m_calls.empty() ? Result<void>{} : m_communicator->start(m_calls);
}

/// All of them, also after an error: other devices read what this one has started to send. Only
/// when all are finished is what was received complete, and what was sent nobody's any more.
Result<void> DeviceRunner::finishExchanges(int phase, Clock::time_point begin) {
    Result<void> result;
    const auto note = [&](const Result<void>& done, const PhaseExchange& exchange) {
        if (!done && result)
            result = placed(done.error(), phase, exchange);
    };
    auto& exchanges = m_exchanges[static_cast<std::size_t>(phase)];
    for (std::size_t i = 0; i < exchanges.size(); ++i) {
        PhaseExchange& exchange = exchanges[i];
        const std::int64_t waited = m_communicator->waitedNanoseconds();
        note(m_communicator->finish(i), exchange);
        const bool last = i + 1 == exchanges.size();
        for (std::size_t d = 0; last && d < exchanges.size(); ++d)
            if (result && exchanges[d].transfer.receiveTensor < 0)
                note(deliver(exchanges[d].transfer, exchanges[d].receive), exchanges[d]);
        record({Span::Kind::Exchange, m_program.device, phase, exchange.index, 0, 0, 0,
                exchange.transfer.exchange->operation.bytes},
               begin, waited);
        begin = Clock::now();
    }
    for (PhaseExchange& exchange : exchanges)
        for (Buffer* message : {&exchange.send, &exchange.receive})
            if (*message)
                m_pool.give(std::exchange(*message, Buffer()));
    return result;
}

Error DeviceRunner::placed(const Error& error, int phase, const PhaseExchange& exchange) {
    return error.place.empty() ? Error{error.message, "phase " + std::to_string(phase) + ", " +
                                                          describe(*exchange.transfer.exchange)}
                               : error;
}

}  // namespace shardwright
