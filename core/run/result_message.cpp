// SPDX-License-Identifier: Apache-2.0
#include "run/result_message.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

namespace shardwright {

namespace {

class Writer {
public:
    std::string bytes;

    template <class T>
    void plain(const T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    template <class T, class F>
    void list(const std::vector<T>& values, F&& f) {
        plain(values.size());
        for (const T& value : values)
            f(value);
    }
    template <class T>
    void plains(const std::vector<T>& values) {
        list(values, [&](const T& value) { plain(value); });
    }

    void piece(const RunResult::Piece& piece) {
        plain(piece.device);
        list(piece.box.dims, [&](const IndexSet& set) { plains(set.intervals()); });
        plain(piece.data.elementType());
        plains(piece.data.dims());
        plain(piece.data.bytes());
        bytes.append(reinterpret_cast<const char*>(piece.data.data()), piece.data.bytes());
    }
};

class Reader {
public:
    explicit Reader(std::string_view bytes) : m_rest(bytes) {}

    bool failed() const { return m_failed; }

    template <class T>
    T plain() {
        static_assert(std::is_trivially_copyable_v<T>);
        T value{};
        if (m_rest.size() < sizeof value) {
            m_failed = true;
            return value;
        }
        std::memcpy(&value, m_rest.data(), sizeof value);
        m_rest.remove_prefix(sizeof value);
        return value;
    }
    template <class F>
    void list(F&& f) {
        for (auto left = plain<std::size_t>(); left > 0 && !m_failed; --left)
            f();
    }
    template <class T>
    std::vector<T> plains() {
        std::vector<T> values;
        list([&] { values.push_back(plain<T>()); });
        return values;
    }

    Result<RunResult::Piece> piece() {
        RunResult::Piece piece;
        piece.device = plain<DeviceId>();
        list([&] { piece.box.dims.emplace_back(plains<IndexSet::Interval>()); });
        const auto type = plain<std::int32_t>();
        auto data = Buffer::host(type, plains<std::int64_t>());
        const auto size = plain<std::size_t>();
        if (!data)
            return data.error();
        if (m_failed || size != data->bytes() || size > m_rest.size()) {
            m_failed = true;
            return piece;
        }
        std::memcpy(data->data(), m_rest.data(), size);
        m_rest.remove_prefix(size);
        piece.data = std::move(*data);
        return piece;
    }

private:
    std::string_view m_rest;
    bool m_failed = false;
};

template <class R>
auto groupsOf(R& result) {
    return std::array{&result.outputs, &result.observed, &result.inputs};
}

}  // namespace

std::string encodeResult(const RunResult& part) {
    Writer writer;
    for (const auto* outputs : groupsOf(part))
        writer.list(*outputs, [&](const RunResult::Output& output) {
            writer.list(output.pieces, [&](const auto& piece) { writer.piece(piece); });
        });
    writer.plains(part.devices);
    writer.plain(part.executed.size());
    for (const auto& [kind, total] : part.executed) {
        writer.plain(kind);
        writer.plain(total);
    }
    writer.plains(part.spans);
    writer.plains(part.passesMs);
    return std::move(writer.bytes);
}

Result<void> addResult(RunResult& whole, std::string_view part) {
    Reader reader(part);
    const Error wrong{"a process of the run has another plan than the first", {}};
    for (auto* outputs : groupsOf(whole)) {
        if (reader.plain<std::size_t>() != outputs->size())
            return wrong;
        for (RunResult::Output& output : *outputs) {
            Result<void> taken;
            reader.list([&] {
                auto piece = reader.piece();
                if (piece)
                    output.pieces.push_back(std::move(*piece));
                else
                    taken = piece.error();
            });
            if (!taken)
                return taken;
        }
    }
    for (const DeviceTiming& timing : reader.plains<DeviceTiming>())
        whole.devices.push_back(timing);
    reader.list([&] {
        auto& total = whole.executed[reader.plain<CollectiveKind>()];
        const auto more = reader.plain<Communication::KindTotal>();
        total.count += more.count;
        total.bytes += more.bytes;
    });
    for (const Span& span : reader.plains<Span>())
        whole.spans.push_back(span);
    const auto passes = reader.plains<double>();
    whole.passesMs.resize(std::max(whole.passesMs.size(), passes.size()));
    for (std::size_t i = 0; i < passes.size(); ++i)
        whole.passesMs[i] = std::max(whole.passesMs[i], passes[i]);
    return reader.failed() ? Result<void>(wrong) : Result<void>();
}

void finishResult(RunResult& whole) {
    auto sorted = whole.passesMs;
    std::sort(sorted.begin(), sorted.end());
    whole.wallMs = sorted.empty() ? 0 : sorted[sorted.size() / 2];
}

}  // namespace shardwright
