// SPDX-License-Identifier: Apache-2.0
#include "run/element_types.h"
#include "run/thread_communicator.h"

#include <QTest>

#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <thread>

using namespace shardwright;
using T = onnx::TensorProto;

namespace {

/// Runs `body(device, communicator)` on one thread a device and returns the communicators' errors.
std::vector<std::string> onDevices(int count,
                                   const std::function<Result<void>(int, Communicator&)>& body,
                                   const ThreadCommunicatorOptions& options = {},
                                   std::vector<std::unique_ptr<Communicator>>* keep = nullptr) {
    auto ends = makeThreadCommunicators(count, options);
    std::vector<std::string> errors(static_cast<std::size_t>(count));
    std::vector<std::thread> threads;
    for (int d = 0; d < count; ++d)
        threads.emplace_back([&, d] {
            auto result = body(d, *ends[static_cast<std::size_t>(d)]);
            if (!result)
                errors[static_cast<std::size_t>(d)] = result.error().text();
        });
    for (auto& thread : threads)
        thread.join();
    if (keep)
        *keep = std::move(ends);
    return errors;
}

DeviceGroup firstDevices(int count) {
    DeviceGroup group;
    for (int d = 0; d < count; ++d)
        group.push_back(d);
    return group;
}

template <class E>
ConstBufferView viewOf(const std::vector<E>& data, int type) {
    return {reinterpret_cast<const std::byte*>(data.data()), data.size() * sizeof(E), type,
            MemoryKind::Host};
}
template <class E>
BufferView viewOf(std::vector<E>& data, int type) {
    return {reinterpret_cast<std::byte*>(data.data()), data.size() * sizeof(E), type,
            MemoryKind::Host};
}

/// Contribution of a device: small numbers that are exact in every type, a half included.
template <class E>
E element(int device, std::size_t i) {
    const int number = 1 + static_cast<int>((i * 7 + static_cast<std::size_t>(device) * 5) % 3);
    if constexpr (std::is_same_v<E, Half>)
        return toHalf(static_cast<float>(number));
    else if constexpr (std::is_same_v<E, BFloat16>)
        return toBFloat16(static_cast<float>(number));
    else
        return static_cast<E>(number);
}

double number(ReduceKind kind, double a, double b) {
    switch (kind) {
        case ReduceKind::Sum: return a + b;
        case ReduceKind::Prod: return a * b;
        case ReduceKind::Min: return std::min(a, b);
        default: return std::max(a, b);
    }
}

CollectiveCall callOf(CollectiveKind kind, const DeviceGroup& group,
                      ReduceKind reduce = ReduceKind::None, int root = -1) {
    CollectiveCall call;
    call.kind = kind;
    call.devices = &group;
    call.reduce = reduce;
    call.root = root;
    return call;
}

void compare(const std::vector<std::string>& errors) {
    for (const std::string& error : errors)
        QCOMPARE(QString::fromStdString(error), QString());
}

}  // namespace

class TstCommunicator : public QObject {
    Q_OBJECT

    template <class E>
    void allReduceOf(int type, int devices, std::size_t count, ReduceKind kind) {
        const DeviceGroup group = firstDevices(devices);
        std::vector<std::vector<E>> results(static_cast<std::size_t>(devices),
                                            std::vector<E>(count));
        compare(onDevices(devices, [&](int d, Communicator& c) {
            std::vector<E> in(count);
            for (std::size_t i = 0; i < count; ++i)
                in[i] = element<E>(d, i);
            auto call = callOf(CollectiveKind::AllReduce, group, kind);
            call.send = viewOf(std::as_const(in), type);
            call.receive = viewOf(results[static_cast<std::size_t>(d)], type);
            return c.run(call);
        }));
        std::vector<double> got(count);
        QVERIFY(
            toDoubles(type, results[0].data(), 0, static_cast<std::int64_t>(count), got.data()));
        for (std::size_t i = 0; i < count; ++i) {
            double expected = toDouble(element<E>(0, i));
            for (int d = 1; d < devices; ++d)
                expected = number(kind, expected, toDouble(element<E>(d, i)));
            QCOMPARE(got[i], expected);
        }
        for (const auto& other : results)
            QVERIFY(count == 0 ||
                    std::memcmp(other.data(), results[0].data(), count * sizeof(E)) == 0);
    }

private slots:
    void allReduceJoinsEveryTypeAndKind_data() {
        QTest::addColumn<int>("devices");
        QTest::addColumn<int>("count");
        for (const int devices : {2, 3, 5, 8})
            for (const int count : {0, 1, 7, 1000, 9001})
                QTest::addRow("%d devices, %d elements", devices, count) << devices << count;
    }
    void allReduceJoinsEveryTypeAndKind() {
        QFETCH(int, devices);
        QFETCH(int, count);
        const auto n = static_cast<std::size_t>(count);
        for (const ReduceKind kind : {ReduceKind::Sum, ReduceKind::Min, ReduceKind::Max}) {
            allReduceOf<float>(T::FLOAT, devices, n, kind);
            allReduceOf<double>(T::DOUBLE, devices, n, kind);
            allReduceOf<Half>(T::FLOAT16, devices, n, kind);
            allReduceOf<BFloat16>(T::BFLOAT16, devices, n, kind);
            allReduceOf<std::int8_t>(T::INT8, devices, n, kind);
            allReduceOf<std::uint16_t>(T::UINT16, devices, n, kind);
            allReduceOf<std::int32_t>(T::INT32, devices, n, kind);
            allReduceOf<std::uint64_t>(T::UINT64, devices, n, kind);
        }
        allReduceOf<std::int64_t>(T::INT64, devices, n, ReduceKind::Prod);
        allReduceOf<float>(T::FLOAT, devices, n, ReduceKind::Prod);
    }

    void boolsAreJoinedByAndAndOr() {
        const DeviceGroup group{0, 1, 2};
        for (const ReduceKind kind :
             {ReduceKind::Or, ReduceKind::And, ReduceKind::Sum, ReduceKind::Min}) {
            std::vector<std::vector<std::uint8_t>> out(3, std::vector<std::uint8_t>(8));
            compare(onDevices(3, [&](int d, Communicator& c) {
                std::vector<std::uint8_t> in(8);
                for (int i = 0; i < 8; ++i)
                    in[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>((i >> d) & 1);
                auto call = callOf(CollectiveKind::AllReduce, group, kind);
                call.send = viewOf(std::as_const(in), T::BOOL);
                call.receive = viewOf(out[static_cast<std::size_t>(d)], T::BOOL);
                return c.run(call);
            }));
            const bool all = kind == ReduceKind::And || kind == ReduceKind::Min;
            for (std::size_t i = 0; i < 8; ++i)
                QCOMPARE(int(out[1][i]), all ? int(i == 7) : int(i != 0));
        }
    }

    void sumsAreBitIdenticalOnAllDevicesAndInEachRun() {
        const DeviceGroup group = firstDevices(4);
        std::vector<std::vector<float>> first;
        for (int run = 0; run < 5; ++run) {
            std::vector<std::vector<float>> out(4, std::vector<float>(20'001));
            compare(onDevices(4, [&](int d, Communicator& c) {
                std::mt19937 random(static_cast<unsigned>(d));
                std::vector<float> in(20'001);
                for (float& x : in)
                    x = std::ldexp(static_cast<float>(random()), -static_cast<int>(random() % 40));
                auto call = callOf(CollectiveKind::AllReduce, group, ReduceKind::Sum);
                call.send = viewOf(std::as_const(in), T::FLOAT);
                call.receive = viewOf(out[static_cast<std::size_t>(d)], T::FLOAT);
                return c.run(call);
            }));
            for (const auto& other : out)
                QCOMPARE(std::memcmp(other.data(), out[0].data(), out[0].size() * 4), 0);
            if (first.empty())
                first = out;
            QCOMPARE(std::memcmp(first[0].data(), out[0].data(), out[0].size() * 4), 0);
        }
    }

    void halvesAreAccumulatedInFloat() {
        // 2048 + 1 rounds to 2048 in half precision, so that adding ones one by one would stay
        // there.
        const DeviceGroup group = firstDevices(4);
        std::vector<std::vector<Half>> out(4, std::vector<Half>(1));
        compare(onDevices(4, [&](int d, Communicator& c) {
            const std::vector<Half> in{toHalf(d == 0 ? 2048.0f : 1.0f)};
            auto call = callOf(CollectiveKind::AllReduce, group, ReduceKind::Sum);
            call.send = viewOf(in, T::FLOAT16);
            call.receive = viewOf(out[static_cast<std::size_t>(d)], T::FLOAT16);
            return c.run(call);
        }));
        QCOMPARE(toFloat(out[2][0]), 2052.0f);  // 2051 lies between 2050 and 2052: ties to even.
    }

    void anAllReduceMayBeInPlace() {
        const DeviceGroup group = firstDevices(3);
        for (const std::size_t count : {10u, 30'000u}) {
            std::vector<std::vector<double>> data(3, std::vector<double>(count));
            compare(onDevices(3, [&](int d, Communicator& c) {
                auto& own = data[static_cast<std::size_t>(d)];
                std::fill(own.begin(), own.end(), d + 1.0);
                auto call = callOf(CollectiveKind::AllReduce, group, ReduceKind::Sum);
                call.send = call.receive = viewOf(own, T::DOUBLE);
                return c.run(call);
            }));
            QCOMPARE(data[1].front(), 6.0);
            QCOMPARE(data[2].back(), 6.0);
        }
    }

    void reduceGivesTheRootTheSumAlsoOfOthersOnly() {
        const DeviceGroup group{0, 2, 3};
        std::vector<float> out(5);
        compare(onDevices(4, [&](int d, Communicator& c) -> Result<void> {
            if (d == 1)
                return {};
            const std::vector<float> in(5, static_cast<float>(d + 1));
            auto call = callOf(CollectiveKind::Reduce, group, ReduceKind::Sum, 0);
            if (d != 0)
                call.send = viewOf(in, T::FLOAT);
            else
                call.receive = viewOf(out, T::FLOAT);
            return c.run(call);
        }));
        QCOMPARE(out, std::vector<float>(5, 7.0f));
    }

    void reduceScatterCutsUnevenBlocks() {
        const DeviceGroup group = firstDevices(3);
        const std::vector<std::size_t> counts{3 * 4, 3 * 4, 1 * 4};
        std::vector<std::vector<std::int32_t>> out{{0, 0, 0}, {0, 0, 0}, {0}};
        compare(onDevices(3, [&](int d, Communicator& c) {
            std::vector<std::int32_t> in(7);
            for (int i = 0; i < 7; ++i)
                in[static_cast<std::size_t>(i)] = i * (d + 1);
            auto call = callOf(CollectiveKind::ReduceScatter, group, ReduceKind::Sum);
            call.send = viewOf(std::as_const(in), T::INT32);
            call.receive = viewOf(out[static_cast<std::size_t>(d)], T::INT32);
            call.counts = counts;
            return c.run(call);
        }));
        QCOMPARE(out[0], (std::vector<std::int32_t>{0, 6, 12}));
        QCOMPARE(out[1], (std::vector<std::int32_t>{18, 24, 30}));
        QCOMPARE(out[2], (std::vector<std::int32_t>{36}));
    }

    void allGatherTakesUnevenAndEmptyBlocks() {
        const DeviceGroup group = firstDevices(3);
        const std::vector<std::size_t> counts{2, 0, 3};
        std::vector<std::vector<std::uint8_t>> out(3, std::vector<std::uint8_t>(5));
        compare(onDevices(3, [&](int d, Communicator& c) {
            const std::vector<std::uint8_t> in(counts[static_cast<std::size_t>(d)],
                                               static_cast<std::uint8_t>(d + 1));
            auto call = callOf(CollectiveKind::AllGather, group);
            call.send = viewOf(in, T::UINT8);
            call.receive = viewOf(out[static_cast<std::size_t>(d)], T::UINT8);
            call.counts = counts;
            return c.run(call);
        }));
        for (const auto& each : out)
            QCOMPARE(each, (std::vector<std::uint8_t>{1, 1, 3, 3, 3}));
    }

    void allToAllSendsEachItsBlock() {
        const DeviceGroup group = firstDevices(3);
        std::vector<std::vector<std::uint8_t>> out(3);
        compare(onDevices(3, [&](int d, Communicator& c) {
            // Device d sends d + 1 bytes "10 d + to" to each.
            std::vector<std::size_t> counts(3, static_cast<std::size_t>(d + 1)),
                receiveCounts{1, 2, 3};
            std::vector<std::uint8_t> in;
            for (int to = 0; to < 3; ++to)
                in.insert(in.end(), static_cast<std::size_t>(d + 1),
                          static_cast<std::uint8_t>(10 * d + to));
            auto& own = out[static_cast<std::size_t>(d)];
            own.resize(6);
            auto call = callOf(CollectiveKind::AllToAll, group);
            call.send = viewOf(std::as_const(in), T::UINT8);
            call.receive = viewOf(own, T::UINT8);
            call.counts = counts;
            call.receiveCounts = receiveCounts;
            return c.run(call);
        }));
        QCOMPARE(out[1], (std::vector<std::uint8_t>{1, 11, 11, 21, 21, 21}));
    }

    void broadcastAndScatterComeFromTheRoot() {
        const DeviceGroup group{1, 2, 3};
        const std::vector<std::size_t> counts{1, 2, 3};
        std::vector<std::vector<std::uint8_t>> all(4), blocks(4);
        compare(onDevices(4, [&](int d, Communicator& c) -> Result<void> {
            if (d == 0)
                return {};
            const std::vector<std::uint8_t> in{1, 2, 3, 4, 5, 6};
            auto& whole = all[static_cast<std::size_t>(d)];
            auto& block = blocks[static_cast<std::size_t>(d)];
            auto call = callOf(CollectiveKind::Broadcast, group, ReduceKind::None, 2);
            if (d == 2) {
                call.send = viewOf(in, T::UINT8);
            } else {
                whole.resize(6);
                call.receive = viewOf(whole, T::UINT8);
            }
            if (auto result = c.run(call); !result)
                return result;
            call = callOf(CollectiveKind::Scatter, group, ReduceKind::None, 2);
            if (d == 2) {
                call.send = viewOf(in, T::UINT8);
                call.counts = counts;
            }
            block.resize(static_cast<std::size_t>(d));
            call.receive = viewOf(block, T::UINT8);
            return c.run(call);
        }));
        QCOMPARE(all[1], (std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6}));
        QCOMPARE(all[3], all[1]);
        QCOMPARE(blocks[1], (std::vector<std::uint8_t>{1}));
        QCOMPARE(blocks[2], (std::vector<std::uint8_t>{2, 3}));
        QCOMPARE(blocks[3], (std::vector<std::uint8_t>{4, 5, 6}));
    }

    void messagesArriveInTheSendersOrder() {
        const DeviceGroup group = firstDevices(2);
        std::vector<std::uint8_t> first(2), second(1), back(1);
        std::vector<std::unique_ptr<Communicator>> ends;
        compare(onDevices(
            2,
            [&](int d, Communicator& c) {
                const std::vector<std::uint8_t> a{7, 8}, b{9};
                auto call = callOf(CollectiveKind::Region, group);
                std::vector<SendMessage> sends;
                std::vector<ReceiveMessage> receives;
                if (d == 0) {
                    sends = {{1, viewOf(a, T::UINT8)}, {1, viewOf(b, T::UINT8)}};
                    receives = {{1, viewOf(back, T::UINT8)}};
                } else {
                    sends = {{0, viewOf(b, T::UINT8)}};
                    receives = {{0, viewOf(first, T::UINT8)}, {0, viewOf(second, T::UINT8)}};
                }
                call.sends = sends;
                call.receives = receives;
                return c.run(call);
            },
            {}, &ends));
        QCOMPARE(first, (std::vector<std::uint8_t>{7, 8}));
        QCOMPARE(second, (std::vector<std::uint8_t>{9}));
        QCOMPARE(back, (std::vector<std::uint8_t>{9}));
        const auto sent = ends[0]->executed().at(CollectiveKind::Region),
                   other = ends[1]->executed().at(CollectiveKind::Region);
        QCOMPARE(sent.count + other.count, 1);
        QCOMPARE(sent.bytes + other.bytes, 4);
    }

    void everyGroupOperationIsCountedOnce() {
        std::vector<std::unique_ptr<Communicator>> ends;
        compare(onDevices(
            4,
            [&](int d, Communicator& c) -> Result<void> {
                const DeviceGroup all = firstDevices(4),
                                  own = d < 2 ? DeviceGroup{0, 1} : DeviceGroup{2, 3};
                const std::vector<float> in(8, 1.0f), block(2, 1.0f);
                std::vector<float> out(8), gathered(8);
                for (const DeviceGroup& group : {own, own, all}) {
                    auto call = callOf(CollectiveKind::AllReduce, group, ReduceKind::Sum);
                    call.send = viewOf(in, T::FLOAT);
                    call.receive = viewOf(out, T::FLOAT);
                    if (auto done = c.run(call); !done)
                        return done;
                }
                const std::vector<std::size_t> counts(4, 8);
                auto call = callOf(CollectiveKind::AllGather, all);
                call.send = viewOf(block, T::FLOAT);
                call.receive = viewOf(gathered, T::FLOAT);
                call.counts = counts;
                return c.run(call);
            },
            {}, &ends));
        CollectiveCounts total;
        for (const auto& end : ends)
            for (const auto& [kind, part] : end->executed()) {
                total[kind].count += part.count;
                total[kind].bytes += part.bytes;
            }
        QCOMPARE(total[CollectiveKind::AllReduce].count, 5);
        QCOMPARE(total[CollectiveKind::AllReduce].bytes, 5 * 32);
        QCOMPARE(total[CollectiveKind::AllGather].count, 1);
        QCOMPARE(total[CollectiveKind::AllGather].bytes, 32);
    }

    void sizesThatDoNotFitAreAnErrorOnAll() {
        const DeviceGroup group = firstDevices(3);
        // One of them small enough for the short way, the others not.
        const auto errors = onDevices(3, [&](int d, Communicator& c) {
            std::vector<float> in(d == 1 ? 10 : 20'000), out(in.size());
            auto call = callOf(CollectiveKind::AllReduce, group, ReduceKind::Sum);
            call.send = viewOf(std::as_const(in), T::FLOAT);
            call.receive = viewOf(out, T::FLOAT);
            return c.run(call);
        });
        for (const std::string& error : errors)
            QCOMPARE(QString::fromStdString(error),
                     QString("all-reduce: device 1 sends 40 bytes, expected 80000"));
    }

    void typesThatCannotBeJoinedAreRefused() {
        const DeviceGroup group = firstDevices(2);
        const auto errors = onDevices(2, [&](int, Communicator& c) {
            std::vector<float> in(4), out(4);
            auto call = callOf(CollectiveKind::AllReduce, group, ReduceKind::Or);
            call.send = viewOf(std::as_const(in), T::FLOAT);
            call.receive = viewOf(out, T::FLOAT);
            return c.run(call);
        });
        QVERIFY2(errors[0].find("cannot join FLOAT by or") != std::string::npos, errors[0].c_str());
    }

    void aPoisonFreesAllThatWait() {
        using Clock = std::chrono::steady_clock;
        const DeviceGroup all = firstDevices(4);
        std::atomic<int> late{0};
        const auto errors = onDevices(4, [&](int d, Communicator& c) -> Result<void> {
            std::vector<float> in(100), out(100);
            auto call = callOf(CollectiveKind::AllReduce, all, ReduceKind::Sum);
            call.send = viewOf(std::as_const(in), T::FLOAT);
            call.receive = viewOf(out, T::FLOAT);
            if (auto done = c.run(call); !done)
                return done;
            if (d == 3) {
                std::this_thread::sleep_for(std::chrono::milliseconds(50));
                c.poison("device 3 is ill");
                return Error{"ill", {}};
            }
            const auto begin = Clock::now();
            auto done = c.run(call);
            late += Clock::now() - begin > std::chrono::seconds(2) ? 1 : 0;
            // Later calls, of other groups too, fail at once.
            const DeviceGroup pair{0, 1};
            auto other = callOf(CollectiveKind::AllReduce, pair, ReduceKind::Sum);
            other.send = call.send;
            other.receive = call.receive;
            if (d < 2 && c.run(other))
                return Error{"went on", {}};
            return c.barrier() ? Result<void>(Error{"passed", {}}) : done;
        });
        QCOMPARE(late.load(), 0);
        for (int d = 0; d < 3; ++d)
            QCOMPARE(QString::fromStdString(errors[static_cast<std::size_t>(d)]),
                     QString("device 3 is ill"));
    }

    void manyCallsInARowStayInStep_data() {
        QTest::addColumn<int>("devices");
        QTest::addColumn<int>("cores");
        QTest::newRow("a core each: spinning") << 2 << 2;
        QTest::newRow("more threads than cores") << 6 << 2;
    }
    void manyCallsInARowStayInStep() {
        QFETCH(int, devices);
        QFETCH(int, cores);
        const DeviceGroup group = firstDevices(devices);
        std::atomic<int> wrong{0};
        compare(onDevices(devices,
                          [&](int d, Communicator& c) -> Result<void> {
                              for (int i = 0; i < 300; ++i) {
                                  // Small and large ones in turn: they use different ways.
                                  const std::size_t count = i % 3 == 0 ? 5000 : 16;
                                  std::vector<std::int32_t> in(count, i + d), out(count);
                                  auto call =
                                      callOf(CollectiveKind::AllReduce, group, ReduceKind::Sum);
                                  call.send = viewOf(std::as_const(in), T::INT32);
                                  call.receive = viewOf(out, T::INT32);
                                  if (auto done = c.run(call); !done)
                                      return done;
                                  const int expected = devices * i + devices * (devices - 1) / 2;
                                  wrong +=
                                      out.front() == expected && out.back() == expected ? 0 : 1;
                              }
                              return {};
                          },
                          {cores}));
        QCOMPARE(wrong.load(), 0);
    }
};

QTEST_GUILESS_MAIN(TstCommunicator)
#include "tst_communicator.moc"
