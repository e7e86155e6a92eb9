// SPDX-License-Identifier: Apache-2.0
// Every collective with every kind of reduction and element type, on several numbers of devices and
// sizes, against sums made one element at a time. Between threads as core/run/collectives, between
// processes as core/run/collectives_mpi.
#include "model/shapes.h"
#include "run/element_types.h"
#include "run/reduce.h"
#include "support/device_world.h"

#include <QTest>

#include <cstring>
#include <numeric>

using namespace shardwright;
using namespace shardwright::test;
using T = onnx::TensorProto;
using Counts = std::vector<std::size_t>;

namespace {

constexpr int kTypes[] = {T::FLOAT,  T::DOUBLE, T::FLOAT16, T::BFLOAT16, T::INT8,
                          T::INT16,  T::INT32,  T::INT64,   T::UINT8,    T::UINT16,
                          T::UINT32, T::UINT64, T::BOOL};
constexpr ReduceKind kReductions[] = {ReduceKind::Sum, ReduceKind::Prod, ReduceKind::Min,
                                      ReduceKind::Max, ReduceKind::And,  ReduceKind::Or};

std::size_t sizeOf(int type) {
    return static_cast<std::size_t>(std::max(8, elementBits(type)) / 8);
}

/// What device `device` has at place i: 1, 2 or 3, so that every sum and product of eight is exact
/// or wraps around.
int numberAt(int device, std::size_t i, ReduceKind reduce) {
    const auto mixed = i * 7 + static_cast<std::size_t>(device) * 5;
    return reduce == ReduceKind::Prod ? 1 + static_cast<int>(mixed % 2)
                                      : 1 + static_cast<int>(mixed % 3);
}

template <class E>
E cast(std::int64_t number) {
    if constexpr (std::is_same_v<E, Half>)
        return toHalf(static_cast<float>(number));
    else if constexpr (std::is_same_v<E, BFloat16>)
        return toBFloat16(static_cast<float>(number));
    else
        return static_cast<E>(number);
}

/// `count` elements as `number(i)` says.
template <class F>
Bytes elements(int type, std::size_t count, F&& number) {
    return withElementType(type, Bytes(), [&](auto zero) {
        using E = decltype(zero);
        Bytes bytes(count * sizeof(E));
        for (std::size_t i = 0; i < count; ++i) {
            const E value = cast<E>(number(i));
            std::memcpy(&bytes[i * sizeof(E)], &value, sizeof(E));
        }
        return bytes;
    });
}

/// Of bool, every third is false somewhere.
Bytes tensorOf(int device, int type, ReduceKind reduce, std::size_t count) {
    return elements(type, count, [&](std::size_t i) {
        const int number = numberAt(device, i, reduce);
        return std::int64_t{type == T::BOOL ? number != 1 : number};
    });
}

std::int64_t joined(ReduceKind reduce, std::int64_t a, std::int64_t b) {
    switch (reduce) {
        case ReduceKind::Sum: return a + b;
        case ReduceKind::Prod: return a * b;
        case ReduceKind::Min: return std::min(a, b);
        case ReduceKind::Max: return std::max(a, b);
        case ReduceKind::And: return a & b;
        default: return a | b;
    }
}

/// What the tensors of these devices join to.
Bytes joinOf(const DeviceGroup& devices, int type, ReduceKind reduce, std::size_t count) {
    return elements(type, count, [&](std::size_t i) {
        std::int64_t sum = 0;
        for (const int device : devices) {
            const int number = numberAt(device, i, reduce);
            const std::int64_t value = type == T::BOOL ? number != 1 : number;
            sum = device == devices.front() ? value : joined(reduce, sum, value);
        }
        return sum;
    });
}

Bytes part(const Bytes& whole, std::size_t begin, std::size_t bytes) {
    const auto first = whole.begin() + static_cast<std::ptrdiff_t>(begin);
    return {first, first + static_cast<std::ptrdiff_t>(bytes)};
}
void append(Bytes& to, const Bytes& more) {
    to.insert(to.end(), more.begin(), more.end());
}
std::size_t sum(const Counts& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}
std::size_t before(const Counts& counts, std::size_t rank) {
    return sum({counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(rank)});
}

/// Cuts `count` elements into `n` blocks: as even as they can be (the last ones may be short or
/// empty), or of very different sizes, the first one empty.
Counts cut(std::size_t count, std::size_t n, bool even, std::size_t size) {
    Counts counts(n, 0);
    const std::size_t chunk = (count + n - 1) / n;
    std::size_t left = count;
    for (std::size_t r = 0; r < n; ++r) {
        const std::size_t wanted = even ? chunk : r == 0 ? 0 : r + 1 == n ? left : left / 3;
        counts[r] = std::min(left, wanted) * size;
        left -= counts[r] / size;
    }
    return counts;
}

/// One call of one device: what it sends and what it must get.
struct Case {
    CollectiveCall call;
    Bytes send, expected;
    Counts counts, receiveCounts;
    std::vector<Bytes> messages;
    std::vector<std::size_t> expectedMessages;  ///< Bytes of each, in `expected`.
    std::vector<DeviceId> to, from;
    bool noSend = false, noReceive = false;
};

struct Setting {
    CollectiveKind kind = CollectiveKind::AllReduce;
    DeviceGroup devices;
    std::size_t count = 0;
    int type = 0;
    ReduceKind reduce = ReduceKind::None;
    bool even = true;
};

class CaseMaker {
public:
    CaseMaker(const Setting& setting, int device)
        : m_setting(setting), m_device(device), m_devices(setting.devices), m_n(m_devices.size()),
          m_rank(static_cast<std::size_t>(std::find(m_devices.begin(), m_devices.end(), device) -
                                          m_devices.begin())),
          m_root(m_devices[m_n / 2]), m_size(sizeOf(setting.type)) {}

    Case make() {
        switch (m_setting.kind) {
            case CollectiveKind::AllReduce:
                m_case.send = own();
                m_case.expected =
                    joinOf(m_devices, m_setting.type, m_setting.reduce, m_setting.count);
                break;
            case CollectiveKind::Reduce: reduce(); break;
            case CollectiveKind::ReduceScatter: {
                m_case.counts = blocks();
                m_case.send = own();
                m_case.expected =
                    part(joinOf(m_devices, m_setting.type, m_setting.reduce, m_setting.count),
                         before(m_case.counts, m_rank), m_case.counts[m_rank]);
                break;
            }
            case CollectiveKind::AllGather:
                m_case.counts = blocks();
                for (std::size_t r = 0; r < m_n; ++r)
                    append(m_case.expected, block(r, m_case.counts[r]));
                m_case.send = block(m_rank, m_case.counts[m_rank]);
                break;
            case CollectiveKind::AllToAll: allToAll(); break;
            case CollectiveKind::Broadcast:
                rooted();
                m_case.expected = tensor(m_root);
                m_case.send = m_device == m_root ? m_case.expected : Bytes();
                // A root may keep its own.
                m_case.noReceive = m_device == m_root && !m_setting.even;
                break;
            case CollectiveKind::Scatter: {
                rooted();
                const Counts counts = blocks();
                m_case.expected = part(tensor(m_root), before(counts, m_rank), counts[m_rank]);
                if (m_device == m_root) {
                    m_case.send = tensor(m_root);
                    m_case.counts = counts;
                }
                break;
            }
            default: messages();
        }
        return std::move(m_case);
    }

private:
    Bytes tensor(int device) const {
        return tensorOf(device, m_setting.type, m_setting.reduce, m_setting.count);
    }
    Bytes own() const { return tensor(m_device); }
    Counts blocks() const { return cut(m_setting.count, m_n, m_setting.even, m_size); }
    Bytes block(std::size_t rank, std::size_t bytes) const {
        return part(tensor(m_devices[rank]), 0, bytes);
    }

    void rooted() {
        m_case.call.root = m_root;
        m_case.noSend = m_device != m_root;
    }

    /// Where blocks are uneven, one device has nothing to add.
    void reduce() {
        m_case.call.root = m_root;
        DeviceGroup adding = m_devices;
        if (!m_setting.even)
            adding.erase(adding.begin());
        m_case.noSend = !m_setting.even && m_rank == 0;
        m_case.noReceive = m_device != m_root;
        m_case.send = m_case.noSend ? Bytes() : own();
        m_case.expected = joinOf(adding, m_setting.type, m_setting.reduce, m_setting.count);
    }

    /// From rank r to rank s: a tenth more each, where they are uneven.
    std::size_t between(std::size_t from, std::size_t to) const {
        const std::size_t even = m_setting.count / m_n;
        return (m_setting.even ? even : even * ((from * 3 + to) % 5) / 5) * m_size;
    }

    void allToAll() {
        for (std::size_t r = 0; r < m_n; ++r) {
            m_case.counts.push_back(between(m_rank, r));
            m_case.receiveCounts.push_back(between(r, m_rank));
            append(m_case.send, block(m_rank, between(m_rank, r)));
            append(m_case.expected, block(r, between(r, m_rank)));
        }
    }

    void message(std::size_t from, std::size_t to, std::size_t bytes) {
        if (from == m_rank) {
            m_case.messages.push_back(block(from, bytes));
            m_case.to.push_back(m_devices[to]);
        }
        if (to == m_rank) {
            append(m_case.expected, block(from, bytes));
            m_case.expectedMessages.push_back(bytes);
            m_case.from.push_back(m_devices[from]);
        }
    }

    void messages() {
        m_case.noSend = m_case.noReceive = true;
        const std::size_t all = m_setting.count * m_size;
        if (m_setting.kind == CollectiveKind::Send) {
            message(0, m_n - 1, all);
        } else if (m_setting.kind == CollectiveKind::Permute) {
            for (std::size_t r = 0; r < m_n; ++r)
                message(r, (r + 1) % m_n, all);
        } else {
            // Each to each other one, to the next one two of different sizes.
            for (std::size_t from = 0; from < m_n; ++from)
                for (std::size_t to = 0; to < m_n; ++to)
                    if (from != to)
                        message(from, to, between(from, to));
            for (std::size_t r = 0; r < m_n; ++r)
                message(r, (r + 1) % m_n, m_setting.count / 2 * m_size);
        }
    }

    const Setting& m_setting;
    const int m_device;
    const DeviceGroup& m_devices;
    const std::size_t m_n, m_rank;
    const int m_root;
    const std::size_t m_size;
    Case m_case;
};

std::string words(const Setting& s) {
    return collectiveName(s.kind) + " of " + std::to_string(s.count) + " " +
           elementTypeName(s.type) + " by " + reduceKindName(s.reduce) +
           (s.even ? ", even" : ", uneven");
}

/// Makes one call and says what is wrong with what came of it.
Result<void> check(const Setting& setting, int device, Communicator& communicator) {
    Case made = CaseMaker(setting, device).make();
    CollectiveCall& call = made.call;
    call.kind = setting.kind;
    call.devices = &setting.devices;
    call.reduce = setting.reduce;
    // Filled, so that what nobody writes is seen; behind it a byte that nobody may write.
    constexpr std::byte kGuard{0xA5};
    Bytes receive(made.expected.size() + 1, kGuard);
    call.send.elementType = call.receive.elementType = setting.type;
    if (!made.noSend) {
        call.send.data = made.send.data();
        call.send.bytes = made.send.size();
        if (!call.send.data)
            call.send.data = &kGuard;  // No bytes, but a tensor.
    }
    if (!made.noReceive) {
        call.receive.data = receive.data();
        call.receive.bytes = made.expected.size();
    }
    call.counts = made.counts;
    call.receiveCounts = made.receiveCounts;
    std::vector<SendMessage> sends;
    std::vector<ReceiveMessage> receives;
    for (std::size_t i = 0; i < made.messages.size(); ++i)
        sends.push_back(
            {made.to[i],
             {made.messages[i].data(), made.messages[i].size(), setting.type, MemoryKind::Host}});
    std::size_t offset = 0;
    for (std::size_t i = 0; i < made.from.size(); ++i) {
        receives.push_back(
            {made.from[i],
             {receive.data() + offset, made.expectedMessages[i], setting.type, MemoryKind::Host}});
        offset += made.expectedMessages[i];
    }
    call.sends = sends;
    call.receives = receives;
    if (auto done = communicator.run(call); !done)
        return Error{done.error().message, words(setting)};
    const bool gets = !made.noReceive || !made.from.empty();
    if (receive.back() != kGuard ||
        (gets && !std::equal(made.expected.begin(), made.expected.end(), receive.begin())))
        return Error{"other bytes than expected", words(setting)};
    return {};
}

bool isReduction(CollectiveKind kind) {
    return kind == CollectiveKind::AllReduce || kind == CollectiveKind::Reduce ||
           kind == CollectiveKind::ReduceScatter;
}

}  // namespace

class TstCollectives : public QObject {
    Q_OBJECT

    DeviceWorld m_world;

    void addRows() {
        QTest::addColumn<int>("kind");
        QTest::addColumn<int>("devices");
        QTest::addColumn<int>("count");
        constexpr CollectiveKind kinds[] = {
            CollectiveKind::AllReduce, CollectiveKind::Reduce,   CollectiveKind::ReduceScatter,
            CollectiveKind::AllGather, CollectiveKind::AllToAll, CollectiveKind::Broadcast,
            CollectiveKind::Scatter,   CollectiveKind::Permute,  CollectiveKind::Send,
            CollectiveKind::Region};
        for (const CollectiveKind kind : kinds)
            for (const int devices : {2, 3, 4, 8})
                // None, one, a prime, what divides by all; below and above the 16 KB from which on
                // an all-reduce goes in chunks, for every size of elements.
                for (const int count : {0, 1, 13, 840, 2053, 17'011})
                    if (devices <= m_world.size() && (devices < 8 || count == 13 || count == 2053))
                        QTest::addRow("%s, %d devices, %d elements", collectiveName(kind).c_str(),
                                      devices, count)
                            << static_cast<int>(kind) << devices << count;
    }

    void checkRow(DeviceWorld& world, bool allTypes) {
        QFETCH(int, kind);
        QFETCH(int, devices);
        QFETCH(int, count);
        const auto body = [&](int device, Communicator& communicator) -> Result<Bytes> {
            Setting setting;
            setting.kind = static_cast<CollectiveKind>(kind);
            setting.count = static_cast<std::size_t>(count);
            // Of more than two also without the first.
            for (const int first : {0, 1}) {
                setting.devices.clear();
                for (int d = first; d < devices; ++d)
                    setting.devices.push_back(d);
                if (setting.devices.size() < 2 || device < first)
                    continue;
                for (const int type : kTypes)
                    for (const ReduceKind reduce : kReductions)
                        for (const bool even : {true, false}) {
                            setting.type = type;
                            setting.reduce = reduce;
                            setting.even = even;
                            if (!isReduction(setting.kind)) {
                                if (reduce != ReduceKind::Sum)
                                    continue;
                                setting.reduce = ReduceKind::None;
                            } else if (!canReduce(reduce, type)) {
                                continue;
                            }
                            if (!allTypes && type != T::FLOAT16 && type != T::INT64)
                                continue;
                            if (auto right = check(setting, device, communicator); !right) {
                                // The others wait for what comes next.
                                communicator.poison(right.error().text());
                                return right.error();
                            }
                        }
            }
            return Bytes();
        };
        for (const std::string& error : world.run(devices, body).errors)
            QCOMPARE(QString::fromStdString(error), QString());
    }

private slots:
    void everyKindReductionTypeAndSizeIsRight_data() { addRows(); }
    void everyKindReductionTypeAndSizeIsRight() { checkRow(m_world, true); }

    /// MPI counts in int; with a limit of 1000 bytes the same happens to small tensors.
    void whatIsTooMuchForOneMessageIsCut_data() {
        if (!DeviceWorld::isMpi())
            QSKIP("threads have no messages");
        addRows();
    }
    void whatIsTooMuchForOneMessageIsCut() {
        static DeviceWorld limited(1000);
        checkRow(limited, false);
    }
};

SHARDWRIGHT_WORLD_TEST_MAIN(TstCollectives)
#include "tst_collectives.moc"
