// SPDX-License-Identifier: Apache-2.0
// What one GPU can show of the plug-in for CUDA; skipped where there is none.
// packaging/check-gpu.sh runs it, and the collectives of devices that share the GPU.
#include "model/shapes.h"
#include "run/cuda_engine.h"
#include "run/cuda_mover.h"
#include "run/element_types.h"
#include "run/gpus.h"
#include "run/reduce.h"

#include <QTest>

#include <cstring>
#include <random>

using namespace shardwright;
using T = onnx::TensorProto;

namespace {

using Bytes = std::vector<std::byte>;

constexpr int kTypes[] = {T::FLOAT,  T::DOUBLE, T::FLOAT16, T::BFLOAT16, T::INT8,
                          T::INT16,  T::INT32,  T::INT64,   T::UINT8,    T::UINT16,
                          T::UINT32, T::UINT64, T::BOOL};
constexpr ReduceKind kReductions[] = {ReduceKind::Sum, ReduceKind::Prod, ReduceKind::Min,
                                      ReduceKind::Max, ReduceKind::And,  ReduceKind::Or};

std::size_t sizeOf(int type) {
    return static_cast<std::size_t>(std::max(8, elementBits(type)) / 8);
}

/// Small numbers, as any type has them.
Bytes randomElements(int type, std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    return withElementType(type, Bytes(), [&](auto zero) {
        using E = decltype(zero);
        Bytes bytes(count * sizeof(E));
        for (std::size_t i = 0; i < count; ++i) {
            const auto number = static_cast<int>(random() % 8);
            E value{};
            if constexpr (std::is_same_v<E, Half>)
                value = toHalf(static_cast<float>(number) / 4);
            else if constexpr (std::is_same_v<E, BFloat16>)
                value = toBFloat16(static_cast<float>(number) / 4);
            else if constexpr (std::is_same_v<E, bool>)
                value = number > 3;
            else
                value = static_cast<E>(number);
            std::memcpy(&bytes[i * sizeof(E)], &value, sizeof(E));
        }
        return bytes;
    });
}

/// Memory of the GPU for the time of a test.
class OnGpu {
public:
    OnGpu(CudaDevice& gpu, std::size_t bytes)
        : m_gpu(gpu), m_bytes(bytes), m_data(gpu.allocate(bytes + 1)) {}
    OnGpu(CudaDevice& gpu, const Bytes& bytes) : OnGpu(gpu, bytes.size()) {
        m_gpu.copy(m_data, bytes.data(), m_bytes);
    }
    OnGpu(const OnGpu&) = delete;
    OnGpu& operator=(const OnGpu&) = delete;
    ~OnGpu() {
        (void)m_gpu.synchronize();
        m_gpu.release(m_data);
    }
    void* data() { return m_data; }
    Bytes bytes() {
        Bytes host(m_bytes);
        m_gpu.copy(host.data(), m_data, m_bytes);
        if (!m_gpu.synchronize().empty())
            host.clear();
        return host;
    }

private:
    CudaDevice& m_gpu;
    std::size_t m_bytes;
    void* m_data;
};

}  // namespace

class TstOneGpu : public QObject {
    Q_OBJECT

    CudaLibrary* m_library = nullptr;
    std::unique_ptr<CudaDevice> m_gpu;

private slots:
    void initTestCase() {
        if (qgetenv("SHARDWRIGHT_PLUGINS").isEmpty())
            qputenv("SHARDWRIGHT_PLUGINS", qgetenv("SHARDWRIGHT_BIN") + "/../lib/shardwright");
        auto library = loadCuda();
        if (!library)
            QSKIP(library.error().text().c_str());
        m_library = *library;
        std::string error;
        if (m_library->gpuCount(error) < 1)
            QSKIP(error.empty() ? "0 GPUs found" : error.c_str());
        m_gpu = m_library->open(0, error);
        QVERIFY2(m_gpu, error.c_str());
    }

    void kernelsJoinLikeTheHost() {
        for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, std::size_t{3'000'001}})
            for (const int type : kTypes)
                for (const ReduceKind kind : kReductions) {
                    if (!canReduce(kind, type) || (count > 1000 && kind != ReduceKind::Sum))
                        continue;
                    const int wide = accumulatorType(type);
                    Bytes sum(count * sizeOf(wide)), expected(count * sizeOf(type));
                    OnGpu gpuSum(*m_gpu, sum.size()), result(*m_gpu, expected.size());
                    fillIdentity(kind, wide, sum.data(), static_cast<std::int64_t>(count));
                    m_gpu->fillIdentity(joinOf(kind, type), wide, gpuSum.data(), count);
                    for (unsigned seed = 0; seed < 3; ++seed) {
                        const Bytes part = randomElements(type, count, seed);
                        OnGpu gpuPart(*m_gpu, part);
                        accumulate(kind, type, sum.data(), part.data(),
                                   static_cast<std::int64_t>(count));
                        m_gpu->accumulate(joinOf(kind, type), type, gpuSum.data(), gpuPart.data(),
                                          count);
                    }
                    roundAccumulator(type, sum.data(), expected.data(),
                                     static_cast<std::int64_t>(count));
                    m_gpu->round(type, result.data(), gpuSum.data(), count);
                    QVERIFY2(result.bytes() == expected,
                             (elementTypeName(type) + " " + reduceKindName(kind)).c_str());
                }
    }

    void runsAreCopiedWhereverTheyBegin() {
        const Bytes source = randomElements(T::UINT8, 100'000, 7);
        for (const std::size_t step : {8u, 13u, 64u}) {
            std::vector<CopyRun> runs;
            Bytes expected(source.size());
            for (std::size_t at = 0; at + step < source.size(); at += step + step / 2) {
                runs.push_back({at, source.size() - at - step, step});
                std::memcpy(&expected[source.size() - at - step], &source[at], step);
            }
            OnGpu from(*m_gpu, source), to(*m_gpu, Bytes(source.size()));
            m_gpu->copyRuns(to.data(), from.data(), runs);
            QVERIFY(to.bytes() == expected);
        }
    }

    void memoryIsGivenBackAndItsLackIsReported() {
        QVERIFY(!m_gpu->allocate(std::size_t{1} << 45));
        QCOMPARE(m_gpu->synchronize(), std::string());
        // More in all than there is.
        for (int i = 0; i < 200; ++i) {
            void* data = m_gpu->allocate(std::size_t{1} << 30);
            QVERIFY(data);
            m_gpu->release(data);
        }
    }

    /// Work on one stream is done in order, and another device's stream on the same GPU is its own.
    void streamsKeepTheirOrder() {
        std::string error;
        const auto other = m_library->open(0, error);
        QVERIFY(other && other->stream() != m_gpu->stream());
        const std::size_t count = 1 << 24;
        OnGpu a(*m_gpu, count * 4), b(*other, count * 4);
        m_gpu->fillIdentity(Join::Sum, T::INT32, a.data(), count);
        other->fillIdentity(Join::Prod, T::INT32, b.data(), count);
        OnGpu one(*m_gpu, count * 4);
        m_gpu->fillIdentity(Join::Prod, T::INT32, one.data(), count);
        for (int i = 0; i < 50; ++i)
            m_gpu->accumulate(Join::Sum, T::INT32, a.data(), one.data(), count);
        const Bytes sums = a.bytes(), ones = b.bytes();
        for (const std::size_t i : {std::size_t{0}, count / 2, count - 1}) {
            QCOMPARE(reinterpret_cast<const int*>(sums.data())[i], 50);
            QCOMPARE(reinterpret_cast<const int*>(ones.data())[i], 1);
        }
    }

    void ncclRunsWithOneRank() {
        std::string error;
        const auto group = m_gpu->joinNccl(m_library->newNcclId(), 0, 1, error);
        QVERIFY2(group, error.c_str());
        for (const int type : kTypes)
            for (const ReduceKind kind : kReductions) {
                if (!canReduce(kind, type) || !group->joins(joinOf(kind, type), type))
                    continue;
                const Bytes values = randomElements(type, 1001, 3);
                OnGpu send(*m_gpu, values), receive(*m_gpu, Bytes(values.size()));
                group->allReduce(send.data(), receive.data(), 1001, type, joinOf(kind, type));
                QVERIFY2(receive.bytes() == values, elementTypeName(type).c_str());
                OnGpu block(*m_gpu, Bytes(values.size()));
                group->reduceScatter(send.data(), block.data(), 1001, type, joinOf(kind, type));
                QVERIFY(block.bytes() == values);
            }
        const Bytes values = randomElements(T::UINT8, 4099, 5);
        OnGpu send(*m_gpu, values), gathered(*m_gpu, Bytes(values.size())),
            broadcast(*m_gpu, Bytes(values.size())), message(*m_gpu, Bytes(values.size()));
        group->allGather(send.data(), gathered.data(), values.size());
        group->broadcast(send.data(), broadcast.data(), values.size(), 0);
        group->begin();
        group->send(send.data(), values.size(), 0);
        group->receive(message.data(), values.size(), 0);
        group->end();
        QVERIFY(gathered.bytes() == values);
        QVERIFY(broadcast.bytes() == values);
        QVERIFY(message.bytes() == values);
    }
};

QTEST_GUILESS_MAIN(TstOneGpu)
#include "tst_one_gpu.moc"
