// SPDX-License-Identifier: Apache-2.0
// Faults, and what a communicator promises beside the right numbers (tst_collectives.cpp). Between
// threads as core/run/communicator, between processes as core/run/communicator_mpi.
#include "run/element_types.h"
#include "support/device_world.h"

#include <QTest>

#include <chrono>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>

using namespace shardwright;
using namespace shardwright::test;
using T = onnx::TensorProto;

namespace {

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

template <class E>
Bytes bytesOf(const std::vector<E>& data) {
    const auto* begin = reinterpret_cast<const std::byte*>(data.data());
    return {begin, begin + data.size() * sizeof(E)};
}
template <class E>
std::vector<E> valuesOf(const Bytes& bytes) {
    std::vector<E> values(bytes.size() / sizeof(E));
    if (!values.empty())
        std::memcpy(values.data(), bytes.data(), values.size() * sizeof(E));
    return values;
}

CollectiveCall allReduceOf(const DeviceGroup& group, ConstBufferView send, BufferView receive,
                           ReduceKind kind = ReduceKind::Sum) {
    CollectiveCall call;
    call.kind = CollectiveKind::AllReduce;
    call.devices = &group;
    call.reduce = kind;
    call.send = send;
    call.receive = receive;
    return call;
}

void compare(const WorldResult& world) {
    for (const std::string& error : world.errors)
        QCOMPARE(QString::fromStdString(error), QString());
}

}  // namespace

class TstCommunicator : public QObject {
    Q_OBJECT

    DeviceWorld m_world;

    /// A sum of numbers of very different sizes: another order gives other bits.
    WorldResult sumOf(int devices, std::size_t count) {
        return m_world.run(devices, [&](int d, Communicator& c) -> Result<Bytes> {
            const DeviceGroup group = firstDevices(devices);
            std::mt19937 random(static_cast<unsigned>(d));
            std::vector<float> in(count), out(count);
            for (float& x : in) {
                const int shift = -static_cast<int>(random() % 40);
                x = std::ldexp(static_cast<float>(random()), shift);
            }
            if (auto done = c.run(
                    allReduceOf(group, viewOf(std::as_const(in), T::FLOAT), viewOf(out, T::FLOAT)));
                !done)
                return done.error();
            return bytesOf(out);
        });
    }

private slots:
    void sumsAreMadeInTheOrderOfTheDevices_data() {
        QTest::addColumn<int>("count");
        QTest::newRow("small") << 1001;
        QTest::newRow("in chunks") << 20'001;
    }
    void sumsAreMadeInTheOrderOfTheDevices() {
        QFETCH(int, count);
        const auto n = static_cast<std::size_t>(count);
        std::vector<float> expected(n);
        for (int d = 0; d < 4; ++d) {
            std::mt19937 random(static_cast<unsigned>(d));
            for (float& sum : expected) {
                const int shift = -static_cast<int>(random() % 40);
                const float x = std::ldexp(static_cast<float>(random()), shift);
                sum = d == 0 ? x : sum + x;
            }
        }
        for (int run = 0; run < 3; ++run) {
            const WorldResult world = sumOf(4, n);
            compare(world);
            for (const Bytes& result : world.results)
                QVERIFY(result == bytesOf(expected));
        }
    }

    void aSumLargerThanTheCachesIsRightAtAnyAddress() {
        constexpr std::size_t kCount = 2'200'003;
        const DeviceGroup group = firstDevices(2);
        const auto world = m_world.run(2, [&](int d, Communicator& c) -> Result<Bytes> {
            std::vector<std::int32_t> in(kCount), out(kCount + 3, -1);
            for (std::size_t i = 0; i < kCount; ++i)
                in[i] = static_cast<std::int32_t>(i) * (d + 1);
            // Not at the start of a cache line, nor of a vector register.
            BufferView receive{reinterpret_cast<std::byte*>(out.data() + 1), kCount * 4, T::INT32,
                               MemoryKind::Host};
            if (auto done = c.run(allReduceOf(group, viewOf(std::as_const(in), T::INT32), receive));
                !done)
                return done.error();
            for (std::size_t i = 0; i < kCount; ++i)
                if (out[i + 1] != static_cast<std::int32_t>(i) * 3)
                    return Error{"element " + std::to_string(i), {}};
            return out[0] == -1 && out[kCount + 1] == -1 ? Result<Bytes>(Bytes{})
                                                         : Error{"written outside", {}};
        });
        compare(world);
    }

    void halvesAreAccumulatedInFloat() {
        // 2048 + 1 rounds to 2048 in half precision, so that adding ones one by one would stay
        // there.
        const DeviceGroup group = firstDevices(4);
        const auto world = m_world.run(4, [&](int d, Communicator& c) -> Result<Bytes> {
            const std::vector<Half> in{toHalf(d == 0 ? 2048.0f : 1.0f)};
            std::vector<Half> out(1);
            if (auto done =
                    c.run(allReduceOf(group, viewOf(in, T::FLOAT16), viewOf(out, T::FLOAT16)));
                !done)
                return done.error();
            return bytesOf(out);
        });
        compare(world);
        // 2051 lies between 2050 and 2052: ties to even.
        QCOMPARE(toFloat(valuesOf<Half>(world.results[2])[0]), 2052.0f);
    }

    void bucketsOfCallsInOverlappingGroupsAllArrive() {
        // Small and large ones together; each device is in some of the groups.
        const std::vector<DeviceGroup> groups{{0, 1}, {0, 1, 2, 3}, {2, 3},      {0, 1},
                                              {1, 3}, {0, 2},       {0, 1, 2, 3}};
        const auto sizeOf = [](std::size_t call, int round) {
            return (call * 3001 + static_cast<std::size_t>(round) * 577) % 9000 + 1;
        };
        const auto world = m_world.run(4, [&](int d, Communicator& c) -> Result<Bytes> {
            for (int round = 0; round < 12; ++round) {
                std::vector<std::vector<std::int32_t>> in, out;
                std::vector<std::size_t> which;
                for (std::size_t g = 0; g < groups.size(); ++g)
                    if (std::find(groups[g].begin(), groups[g].end(), d) != groups[g].end()) {
                        which.push_back(g);
                        in.emplace_back(sizeOf(g, round), 100 * d + static_cast<int>(g));
                        out.emplace_back(sizeOf(g, round));
                    }
                std::vector<CollectiveCall> bucket;
                for (std::size_t i = 0; i < which.size(); ++i)
                    bucket.push_back(allReduceOf(groups[which[i]],
                                                 viewOf(std::as_const(in[i]), T::INT32),
                                                 viewOf(out[i], T::INT32)));
                if (auto started = c.start(bucket); !started)
                    return started.error();
                if ((d + round) % 3 == 0)
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                for (std::size_t i = 0; i < bucket.size(); ++i)
                    if (auto done = c.finish(i); !done)
                        return done.error();
                for (std::size_t i = 0; i < which.size(); ++i) {
                    std::int32_t sum = 0;
                    for (const DeviceId other : groups[which[i]])
                        sum += 100 * other + static_cast<int>(which[i]);
                    if (std::count(out[i].begin(), out[i].end(), sum) !=
                        static_cast<std::ptrdiff_t>(out[i].size()))
                        return Error{"call " + std::to_string(which[i]) + " of round " +
                                         std::to_string(round) + " has another sum",
                                     {}};
                }
            }
            return Bytes{};
        });
        compare(world);
        std::int64_t bytes = 0;
        for (int round = 0; round < 12; ++round)
            for (std::size_t g = 0; g < groups.size(); ++g)
                bytes += static_cast<std::int64_t>(sizeOf(g, round)) * 4;
        QCOMPARE(world.executed.at(CollectiveKind::AllReduce).count,
                 static_cast<std::int64_t>(12 * groups.size()));
        QCOMPARE(world.executed.at(CollectiveKind::AllReduce).bytes, bytes);
    }

    void anAllReduceMayBeInPlace() {
        const DeviceGroup group = firstDevices(3);
        for (const std::size_t count : {10u, 30'000u}) {
            const auto world = m_world.run(3, [&](int d, Communicator& c) -> Result<Bytes> {
                std::vector<double> own(count, d + 1.0);
                auto call = allReduceOf(group, viewOf(own, T::DOUBLE), viewOf(own, T::DOUBLE));
                if (auto done = c.run(call); !done)
                    return done.error();
                return bytesOf(own);
            });
            compare(world);
            for (const Bytes& result : world.results)
                QCOMPARE(valuesOf<double>(result), std::vector<double>(count, 6.0));
        }
    }

    void everyGroupOperationIsCountedOnce() {
        const auto world = m_world.run(4, [&](int d, Communicator& c) -> Result<Bytes> {
            const DeviceGroup all = firstDevices(4),
                              own = d < 2 ? DeviceGroup{0, 1} : DeviceGroup{2, 3};
            const std::vector<float> in(8, 1.0f), block(2, 1.0f);
            std::vector<float> out(8), gathered(8);
            for (const DeviceGroup& group : {own, own, all})
                if (auto done =
                        c.run(allReduceOf(group, viewOf(in, T::FLOAT), viewOf(out, T::FLOAT)));
                    !done)
                    return done.error();
            const std::vector<std::size_t> counts(4, 8);
            CollectiveCall call;
            call.kind = CollectiveKind::AllGather;
            call.devices = &all;
            call.send = viewOf(block, T::FLOAT);
            call.receive = viewOf(gathered, T::FLOAT);
            call.counts = counts;
            if (auto done = c.run(call); !done)
                return done.error();
            return Bytes();
        });
        compare(world);
        QCOMPARE(world.executed.at(CollectiveKind::AllReduce).count, 5);
        QCOMPARE(world.executed.at(CollectiveKind::AllReduce).bytes, 5 * 32);
        QCOMPARE(world.executed.at(CollectiveKind::AllGather).count, 1);
        QCOMPARE(world.executed.at(CollectiveKind::AllGather).bytes, 32);
    }

    void callsThatDoNotFitAreTheSameErrorOnAll_data() {
        QTest::addColumn<QString>("fault");
        QTest::addColumn<QString>("message");
        QTest::newRow("size") << "size"
                              << "all-reduce: device 1 sends 40 bytes, expected 80000";
        QTest::newRow("kind") << "kind"
                              << "reduce: device 1 does something else than device 0";
        QTest::newRow("reduction") << "reduction"
                                   << "all-reduce: device 1 does something else than device 0";
        QTest::newRow("type") << "type"
                              << "all-reduce: device 1 has another element type";
        QTest::newRow("blocks") << "blocks"
                                << "all-gather: device 1 cuts the blocks otherwise than device 0";
        QTest::newRow("block count")
            << "block count"
            << "all-gather: device 1 counts blocks for another number of devices";
        QTest::newRow("root") << "root"
                              << "broadcast: device 0 names a root outside of the group";
        QTest::newRow("message size")
            << "message size"
            << "send: device 1 expects 7 bytes from device 0, which sends 8 bytes";
        QTest::newRow("no message") << "no message"
                                    << "send: device 1 does not expect all that device 0 sends";
        QTest::newRow("not joined") << "not joined"
                                    << "all-reduce: device 0 cannot join FLOAT by or";
    }
    void callsThatDoNotFitAreTheSameErrorOnAll() {
        QFETCH(QString, fault);
        QFETCH(QString, message);
        const DeviceGroup group = firstDevices(3);
        const auto world = m_world.run(3, [&](int d, Communicator& c) -> Result<Bytes> {
            const bool odd = d == 1;
            // One of them small enough for the short way, the others not.
            std::vector<float> in(fault == "size" && odd ? 10 : 20'000), out(in.size());
            auto call =
                allReduceOf(group, viewOf(std::as_const(in), T::FLOAT), viewOf(out, T::FLOAT));
            const std::size_t own = fault == "blocks" && odd ? 4 : 8;
            std::vector<std::size_t> counts{8, 8, own};
            std::vector<SendMessage> sends;
            std::vector<ReceiveMessage> receives;
            if (fault == "kind" && odd) {
                call.kind = CollectiveKind::Reduce;
                call.root = 0;
            } else if (fault == "reduction" && odd) {
                call.reduce = ReduceKind::Max;
            } else if (fault == "type" && odd) {
                call.send.elementType = T::INT32;
            } else if (fault == "not joined") {
                call.reduce = ReduceKind::Or;
            } else if (fault.startsWith("block")) {
                call.kind = CollectiveKind::AllGather;
                call.reduce = ReduceKind::None;
                call.send.bytes = d == 2 ? own : 8;
                call.receive.bytes = 24;
                call.counts = std::span(counts).first(fault == "block count" && odd ? 2 : 3);
            } else if (fault == "root") {
                call.kind = CollectiveKind::Broadcast;
                call.reduce = ReduceKind::None;
                call.root = 3;
            } else if (fault.contains("message")) {
                call.kind = CollectiveKind::Send;
                call.reduce = ReduceKind::None;
                call.send = {};
                call.receive = {};
                auto to = viewOf(out, T::FLOAT);
                to.bytes = 7;
                auto from = viewOf(std::as_const(in), T::FLOAT);
                from.bytes = 8;
                if (d == 0)
                    sends = {{1, from}};
                if (d == 1 && fault == "message size")
                    receives = {{0, to}};
                call.sends = sends;
                call.receives = receives;
            }
            if (auto done = c.run(call); !done)
                return done.error();
            return Bytes();
        });
        for (const std::string& error : world.errors)
            QCOMPARE(QString::fromStdString(error), message);
    }

    /// After an error all are still in step.
    void aRefusedCallLeavesTheOthersUsable() {
        const DeviceGroup group = firstDevices(3);
        const auto world = m_world.run(3, [&](int d, Communicator& c) -> Result<Bytes> {
            const std::vector<std::int32_t> in(d == 2 ? 4 : 5, d + 1);
            std::vector<std::int32_t> out(in.size());
            auto call = allReduceOf(group, viewOf(in, T::INT32), viewOf(out, T::INT32));
            if (c.run(call))
                return Error{"taken", {}};
            call.send.bytes = call.receive.bytes = 16;
            if (auto done = c.run(call); !done)
                return done.error();
            return bytesOf(std::vector<std::int32_t>(out.begin(), out.begin() + 4));
        });
        compare(world);
        QCOMPARE(valuesOf<std::int32_t>(world.results[0]), std::vector<std::int32_t>(4, 6));
    }

    void groupsThatCannotBeAreRefused() {
        const auto world = m_world.run(3, [&](int d, Communicator& c) -> Result<Bytes> {
            const std::vector<float> in(4);
            std::vector<float> out(4);
            const DeviceGroup others = d == 0 ? DeviceGroup{1, 2} : DeviceGroup{0, 7}, alone{d},
                              backwards{2, 1, 0};
            for (const DeviceGroup* group : {&others, &alone, &backwards})
                if (c.run(allReduceOf(*group, viewOf(in, T::FLOAT), viewOf(out, T::FLOAT))))
                    return Error{"taken", {}};
            return Bytes();
        });
        compare(world);
    }

    void aPoisonFreesAllThatWait() {
        using Clock = std::chrono::steady_clock;
        const DeviceGroup all = firstDevices(4);
        const auto world = m_world.run(4, [&](int d, Communicator& c) -> Result<Bytes> {
            const std::vector<float> in(100);
            std::vector<float> out(100);
            const auto call = allReduceOf(all, viewOf(in, T::FLOAT), viewOf(out, T::FLOAT));
            if (auto done = c.run(call); !done)
                return done.error();
            if (d == 3) {
                std::this_thread::sleep_for(std::chrono::milliseconds(50));
                c.poison("device 3 is ill");
                return Error{"ill", {}};
            }
            const auto begin = Clock::now();
            const auto done = c.run(call);
            if (Clock::now() - begin > std::chrono::seconds(2))
                return Error{"late", {}};
            // Later calls, of other groups too, fail at once.
            const DeviceGroup pair{0, 1};
            if (d < 2 && c.run(allReduceOf(pair, call.send, call.receive)))
                return Error{"went on", {}};
            if (c.barrier())
                return Error{"passed", {}};
            return done ? Result<Bytes>(Bytes()) : done.error();
        });
        for (int d = 0; d < 3; ++d)
            QCOMPARE(QString::fromStdString(world.errors[static_cast<std::size_t>(d)]),
                     QString("device 3 is ill"));
    }

    /// The end of a run comes from another thread than the one that waits.
    void aPoisonFromAnotherThreadFreesTheDeviceItselfToo() {
        const auto world = m_world.run(2, [&](int d, Communicator& c) -> Result<Bytes> {
            std::thread other;
            if (d == 0)
                other = std::thread([&] {
                    std::this_thread::sleep_for(std::chrono::milliseconds(50));
                    c.poison("cancelled");
                });
            Result<void> done;
            if (d == 0) {
                done = c.barrier();
                other.join();
            } else {
                // In a group that the other never calls.
                const DeviceGroup group{0, 1};
                const std::vector<float> in(100);
                std::vector<float> out(100);
                done = c.run(allReduceOf(group, viewOf(in, T::FLOAT), viewOf(out, T::FLOAT)));
            }
            return done ? Result<Bytes>(Bytes()) : done.error();
        });
        for (const std::string& error : world.errors)
            QCOMPARE(QString::fromStdString(error), QString("cancelled"));
    }

    void manyCallsInARowStayInStep_data() {
        QTest::addColumn<int>("devices");
        QTest::addColumn<int>("cores");
        QTest::newRow("a core each: spinning") << 2 << 2;
        QTest::newRow("more devices than cores") << 4 << 2;
    }
    void manyCallsInARowStayInStep() {
        QFETCH(int, devices);
        QFETCH(int, cores);
        const DeviceGroup group = firstDevices(devices);
        compare(m_world.run(devices,
                            [&](int d, Communicator& c) -> Result<Bytes> {
                                for (int i = 0; i < 300; ++i) {
                                    // Small and large ones in turn: they use different ways.
                                    const std::size_t count = i % 3 == 0 ? 5000 : 16;
                                    const std::vector<std::int32_t> in(count, i + d);
                                    std::vector<std::int32_t> out(count);
                                    if (auto done = c.run(allReduceOf(group, viewOf(in, T::INT32),
                                                                      viewOf(out, T::INT32)));
                                        !done)
                                        return done.error();
                                    const int expected = devices * i + devices * (devices - 1) / 2;
                                    if (out.front() != expected || out.back() != expected)
                                        return Error{"wrong in round " + std::to_string(i), {}};
                                }
                                return Bytes();
                            },
                            {cores}));
    }
};

SHARDWRIGHT_WORLD_TEST_MAIN(TstCommunicator)
#include "tst_communicator.moc"
