// SPDX-License-Identifier: Apache-2.0
#include "run/run_events.h"

#include "run/event_messages.h"

#include <algorithm>
#include <map>

namespace shardwright {

std::string runStageName(RunStage stage) {
    switch (stage) {
        case RunStage::Load: return "load";
        case RunStage::Analyse: return "analyse";
        case RunStage::Lower: return "lower";
        case RunStage::Inputs: return "inputs";
        case RunStage::Run: return "run";
        case RunStage::Reference: return "reference";
        case RunStage::Verify: return "verify";
        case RunStage::Save: break;
    }
    return "save";
}

CollectiveTotals collectiveTotals(const RunReport& report) {
    std::map<int, CollectiveTotals> devices;
    for (const RunCollective& collective : report.collectives)
        for (const int device : collective.devices) {
            devices[device].predictedUs += std::max(0.0, collective.predictedUs);
            devices[device].measuredUs += collective.measuredUs;
        }
    CollectiveTotals most;
    for (const auto& [device, totals] : devices) {
        most.predictedUs = std::max(most.predictedUs, totals.predictedUs);
        most.measuredUs = std::max(most.measuredUs, totals.measuredUs);
    }
    return most;
}

namespace {

std::string delimited(const google::protobuf::MessageLite& message) {
    std::string out;
    std::size_t length = message.ByteSizeLong();
    for (; length >= 0x80; length >>= 7)
        out += static_cast<char>(length | 0x80);
    out += static_cast<char>(length);
    message.AppendToString(&out);
    return out;
}

/// Whether the bytes after the length can begin an Event: the tag of a message field. Tells words
/// from events at once, where a length that is really a letter would be waited for.
bool mayBeginEvent(std::string_view bytes) {
    std::size_t i = 0;
    while (i < bytes.size() && (bytes[i] & 0x80))
        ++i;
    if (i + 1 >= bytes.size())
        return true;
    const auto tag = static_cast<unsigned char>(bytes[i + 1]);
    return (tag & 7) == 2 && tag >> 3 >= 1 &&
           tag >> 3 <= static_cast<int>(std::variant_size_v<RunEvent>);
}

/// protobuf reads no more.
constexpr std::uint64_t kMaxMessage = 0x7fffffff;

}  // namespace

Result<std::optional<std::string_view>> takeMessage(std::string_view& bytes) {
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < 5; ++i) {
        if (i == bytes.size())
            return std::optional<std::string_view>();
        const auto byte = static_cast<unsigned char>(bytes[i]);
        length |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
        if (byte & 0x80)
            continue;
        if (length > kMaxMessage)
            break;
        if (bytes.size() - i - 1 < length)
            return std::optional<std::string_view>();
        const std::string_view message = bytes.substr(i + 1, length);
        bytes.remove_prefix(i + 1 + length);
        return std::optional<std::string_view>(message);
    }
    return Error{"a message of more than 2 GiB", {}};
}

std::string encodeRequest(const RunRequest& request) {
    return delimited(wire::toMessage(request));
}

Result<RunRequest> decodeRequest(std::string_view message) {
    wire::Request request;
    if (!request.ParseFromArray(message.data(), static_cast<int>(message.size())))
        return Error{"not a request", "standard input"};
    return wire::fromMessage(request);
}

std::string encodeEvent(const RunEvent& event) {
    return delimited(wire::toMessage(event));
}

Result<std::vector<RunEvent>> EventParser::feed(std::string_view bytes) {
    const Error foreign{"the worker wrote something that is no event", {}};
    if (m_broken)
        return foreign;
    m_rest += bytes;
    std::string_view rest = m_rest;
    std::vector<RunEvent> events;
    while (true) {
        auto message = takeMessage(rest);
        m_broken = !message || (!*message && !mayBeginEvent(rest));
        if (m_broken)
            return foreign;
        if (!*message)
            break;
        if ((*message)->empty())
            continue;  // A sign of life.
        wire::Event event;
        m_broken =
            !event.ParseFromArray((*message)->data(), static_cast<int>((*message)->size())) ||
            event.event_case() == wire::Event::EVENT_NOT_SET;
        if (m_broken)
            return foreign;
        events.push_back(wire::fromMessage(event));
    }
    m_rest.erase(0, m_rest.size() - rest.size());
    return events;
}

}  // namespace shardwright
