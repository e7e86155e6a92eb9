// SPDX-License-Identifier: Apache-2.0
#include "run/executor.h"
#include "run/ort_engine.h"
#include "run/verify.h"
#include "support/model_builder.h"

#include <QTest>

#include <array>
#include <chrono>
#include <random>
#include <thread>

using namespace shardwright;
using namespace shardwright::test;
using T = onnx::TensorProto;

namespace {

std::shared_ptr<const OrtRuntime> runtime() {
    static const auto loaded = [] {
        auto path = OrtRuntime::find();
        auto result = path ? OrtRuntime::load(*path)
                           : Result<std::shared_ptr<const OrtRuntime>>(path.error());
        if (!result)
            qWarning("%s", result.error().text().c_str());
        return result ? *result : nullptr;
    }();
    return loaded;
}

RunOptions options() {
    RunOptions options;
    options.makeEngine = [](DeviceId) { return makeOrtEngine(runtime(), {}); };
    return options;
}

Buffer tensor(std::vector<std::int64_t> dims, std::function<double(std::int64_t)> value,
              int type = T::FLOAT) {
    auto buffer = Buffer::host(type, std::move(dims));
    for (std::int64_t i = 0; i < buffer->count(); ++i) {
        const double v = value(i);
        if (type == T::FLOAT)
            reinterpret_cast<float*>(buffer->data())[i] = static_cast<float>(v);
        else
            reinterpret_cast<std::int32_t*>(buffer->data())[i] = static_cast<std::int32_t>(v);
    }
    return *buffer;
}

/// Makes plans by hand.
struct PlanMaker {
    Plan plan;

    PlanMaker(int devices, int phases) {
        plan.deviceCount = devices;
        plan.phases = phases;
        plan.exchanges.resize(static_cast<std::size_t>(phases));
        for (int d = 0; d < devices; ++d) {
            plan.devices.emplace_back();
            plan.devices.back().device = d;
        }
    }
    int add(int device, const std::string& name, Box box, int type = T::FLOAT, int term = 0) {
        auto& tensors = plan.devices[static_cast<std::size_t>(device)].tensors;
        LocalTensor local;
        local.name = name;
        local.box = std::move(box);
        local.term = term;
        local.elementType = type;
        tensors.push_back(std::move(local));
        return static_cast<int>(tensors.size()) - 1;
    }
    void segment(int device, int phase, const ModelBuilder& model, std::vector<int> inputs,
                 std::vector<int> outputs) {
        Segment segment;
        segment.device = device;
        segment.phase = phase;
        segment.modelBytes = model.bytes();
        segment.inputs = std::move(inputs);
        segment.outputs = std::move(outputs);
        segment.nodes = {NodeId(0)};
        plan.devices[static_cast<std::size_t>(device)].segments.push_back(std::move(segment));
    }
    Plan::Port port(const std::string& name, std::vector<std::int64_t> shape,
                    std::vector<std::vector<int>> tensors, int type = T::FLOAT) {
        Plan::Port port;
        port.name = name;
        port.elementType = type;
        port.shape = std::move(shape);
        port.tensors = std::move(tensors);
        return port;
    }
};

/// y = sum over devices of (x * weight(device)), all-reduced.
Plan sumPlan(int devices) {
    PlanMaker maker(devices, 1);
    const Box whole = Box::whole({4, 8});
    std::vector<std::vector<int>> xs, ys;
    Exchange exchange;
    exchange.operation.kind = CollectiveKind::AllReduce;
    exchange.operation.reduce = ReduceKind::Sum;
    exchange.elementType = T::FLOAT;
    exchange.operation.bytes = 4 * 8 * 4;
    for (int d = 0; d < devices; ++d) {
        const int x = maker.add(d, "x", whole), part = maker.add(d, "part", whole, T::FLOAT, d),
                  y = maker.add(d, "y", whole);
        maker.segment(d, 0,
                      ModelBuilder{}
                          .input("x", {4, 8})
                          .real("w", static_cast<float>(d + 1))
                          .op("Mul", {"x", "w"}, {"part"})
                          .output("part", {4, 8}),
                      {x}, {part});
        exchange.operation.devices.push_back(d);
        exchange.sources.push_back({part});
        exchange.targets.push_back({y});
        for (int to = 0; to < devices; ++to)
            exchange.operation.parts.push_back({d, to, whole, d});
        xs.push_back({x});
        ys.push_back({y});
    }
    maker.plan.exchanges[0].push_back(exchange);
    maker.plan.inputs.push_back(maker.port("x", {4, 8}, xs));
    maker.plan.outputs.push_back(maker.port("y", {4, 8}, ys));
    return maker.plan;
}

/// sumPlan(), and a product of `a` that nobody exchanges runs beside it.
Plan besidePlan(const std::string& op = "MatMul") {
    Plan plan = sumPlan(2);
    std::vector<std::vector<int>> as, bs;
    for (int d = 0; d < 2; ++d) {
        DeviceProgram& program = plan.devices[static_cast<std::size_t>(d)];
        for (const char* name : {"a", "b"}) {
            LocalTensor local;
            local.name = name;
            local.box = Box::whole({300, 300});
            local.elementType = T::FLOAT;
            program.tensors.push_back(local);
        }
        const int b = static_cast<int>(program.tensors.size()) - 1;
        Segment segment = program.segments[0];
        segment.besideExchanges = true;
        segment.modelBytes = ModelBuilder{}
                                 .input("a", {300, 300})
                                 .op(op, {"a", "a"}, {"b"})
                                 .output("b", {300, 300})
                                 .bytes();
        segment.inputs = {b - 1};
        segment.outputs = {b};
        program.segments.push_back(segment);
        as.push_back({b - 1});
        bs.push_back({b});
    }
    PlanMaker maker(2, 1);
    plan.inputs.push_back(maker.port("a", {300, 300}, as));
    plan.outputs.push_back(maker.port("b", {300, 300}, bs));
    return plan;
}

MeshSharding randomSharding(const Mesh& mesh, std::size_t rank, std::mt19937& random,
                            const std::vector<std::int64_t>& shape) {
    MeshSharding sharding;
    sharding.dims.resize(rank);
    std::vector<int> axes(mesh.axes.size());
    for (std::size_t i = 0; i < axes.size(); ++i)
        axes[i] = static_cast<int>(i);
    std::shuffle(axes.begin(), axes.end(), random);
    for (const int axis : axes) {
        const std::size_t d = random() % (rank + 1);
        if (d == rank)
            continue;
        if (sharding.dims[d].empty())
            sharding.dims[d].push_back({shape[d], {}});
        sharding.dims[d][0].axes.push_back(axis);
    }
    return sharding;
}

/// A whole tensor for gather(): what the run made of it.
std::vector<float> floats(const Buffer& buffer) {
    const auto* data = reinterpret_cast<const float*>(buffer.data());
    return {data, data + buffer.count()};
}

}  // namespace

class TstExecutor : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        if (!runtime())
            QSKIP("needs ONNX Runtime, which is not there");
    }

    void segmentsAndAnAllReduceGiveTheSum() {
        const Plan plan = sumPlan(3);
        const InputSet inputs{{"x", tensor({4, 8}, [](auto i) { return i; })}};
        auto result = execute(plan, options(), inputs);
        QVERIFY2(result, result ? "" : result.error().text().c_str());
        QCOMPARE(result->outputs.size(), std::size_t(1));
        QCOMPARE(result->outputs[0].pieces.size(), std::size_t(3));
        for (const auto& piece : result->outputs[0].pieces)
            QCOMPARE(floats(piece.data)[5], 6.0f * 5);
        QCOMPARE(result->executed.at(CollectiveKind::AllReduce).count, 1);
        QCOMPARE(result->executed.at(CollectiveKind::AllReduce).bytes, 128);
        QCOMPARE(result->devices.size(), std::size_t(3));
        QVERIFY(result->devices[1].computeMs > 0);
        QVERIFY(result->devices[1].peakBytes >= 3 * 128);
        QCOMPARE(result->spans.size(), std::size_t(6));
    }

    void passesRepeatAndCountOnce() {
        auto settings = options();
        settings.warmups = 2;
        settings.repeats = 3;
        auto result =
            execute(sumPlan(2), settings, {{"x", tensor({4, 8}, [](auto) { return 1; })}});
        QVERIFY(result);
        QCOMPARE(result->passesMs.size(), std::size_t(3));
        QCOMPARE(result->executed.at(CollectiveKind::AllReduce).count, 1);
        QCOMPARE(floats(result->outputs[0].pieces[0].data)[0], 3.0f);
    }

    void aSegmentRunsBesideAnExchange() {
        // Puts the moments of start() and finish() beside the spans of the last pass.
        using Clock = std::chrono::steady_clock;
        struct Moments {
            Clock::time_point started, finishing;
        };
        struct Clocked : Communicator {
            Clocked(std::unique_ptr<Communicator> end, Moments& moments)
                : inner(std::move(end)), at(moments) {}
            DeviceId device() const override { return inner->device(); }
            Result<void> run(const CollectiveCall& call) override { return inner->run(call); }
            Result<void> start(std::span<const CollectiveCall> bucket) override {
                at.started = Clock::now();
                return inner->start(bucket);
            }
            Result<void> finish(std::size_t index) override {
                at.finishing = Clock::now();
                return inner->finish(index);
            }
            Result<void> barrier() override { return inner->barrier(); }
            void poison(const std::string& reason) override { inner->poison(reason); }
            void beginPass() override { inner->beginPass(); }
            CollectiveCounts executed() const override { return inner->executed(); }
            std::int64_t waitedNanoseconds() const override { return inner->waitedNanoseconds(); }

            std::unique_ptr<Communicator> inner;
            Moments& at;
        };
        std::array<Moments, 2> moments;
        auto settings = options();
        settings.decorate = [&](std::unique_ptr<Communicator> end) {
            Moments& own = moments[static_cast<std::size_t>(end->device())];
            return std::make_unique<Clocked>(std::move(end), own);
        };
        const InputSet inputs{{"x", tensor({4, 8}, [](auto i) { return i; })},
                              {"a", tensor({300, 300}, [](auto) { return 1; })}};
        auto result = execute(besidePlan(), settings, inputs);
        QVERIFY2(result, result ? "" : result.error().text().c_str());
        QCOMPARE(floats(result->outputs[0].pieces[0].data)[5], 3.0f * 5);
        QCOMPARE(floats(result->outputs[1].pieces[1].data)[7], 300.0f);
        QCOMPARE(result->executed.at(CollectiveKind::AllReduce).count, 1);
        for (const Span& span : result->spans)
            if (span.kind == Span::Kind::Segment && span.index == 1) {
                const Moments& own = moments[static_cast<std::size_t>(span.device)];
                const double open =
                    std::chrono::duration<double, std::micro>(own.finishing - own.started).count();
                QVERIFY2(open >= span.duration,
                         qPrintable(QString("%1 %2").arg(open).arg(span.duration)));
            }
    }

    void aSegmentThatFailsBesideAnExchangeEndsTheRun() {
        Plan plan = besidePlan();
        plan.devices[1].segments[1].modelBytes = ModelBuilder{}
                                                     .input("a", {300, 300})
                                                     .op("NoSuchOperator", {"a"}, {"b"})
                                                     .output("b", {300, 300})
                                                     .bytes();
        auto result = execute(plan, options(),
                              {{"x", tensor({4, 8}, [](auto) { return 0; })},
                               {"a", tensor({300, 300}, [](auto) { return 1; })}});
        QVERIFY(!result);
        QVERIFY(result.error().text().find("device 1, segment 0 of 1 nodes: ONNX Runtime: ") == 0);
    }

    void anyReshardMovesTheRightElements_data() {
        QTest::addColumn<int>("terms");
        QTest::newRow("one value") << 1;
        QTest::newRow("two partial results") << 2;
        QTest::newRow("four partial results") << 4;
    }
    void anyReshardMovesTheRightElements() {
        QFETCH(int, terms);
        std::mt19937 random(static_cast<unsigned>(terms));
        const auto mesh = Mesh::parse("a=2,b=2").value();
        std::map<CollectiveKind, int> seen;
        for (int round = 0; round < 150; ++round) {
            const std::vector<std::int64_t> shape{static_cast<std::int64_t>(2 + random() % 6),
                                                  static_cast<std::int64_t>(1 + random() % 8)};
            // A term lies on its own part of the mesh: all devices, two, or one.
            std::vector<SourcePiece> sources;
            for (int term = 0; term < terms; ++term) {
                const DeviceGroup within = terms == 1   ? DeviceGroup{}
                                           : terms == 2 ? DeviceGroup{2 * term, 2 * term + 1}
                                                        : DeviceGroup{term};
                const auto layout =
                    terms == 1 ? encode(mesh, randomSharding(mesh, 2, random, shape), shape).value()
                               : Layout::replicated(shape, within);
                for (SourcePiece piece : piecesOf(layout)) {
                    piece.term = term;
                    sources.push_back(piece);
                }
            }
            const Layout target =
                encode(mesh, randomSharding(mesh, 2, random, shape), shape).value();
            const ReduceKind reduce = terms == 1 ? ReduceKind::None : ReduceKind::Sum;
            const ReshardPlan reshard = planReshard(sources, reduce, target, mesh, 32);
            seen[reshard.kind] += 1;
            checkReshard(sources, reduce, target, reshard, shape, terms);
            if (QTest::currentTestFailed())
                return;
        }
        for (const auto& [kind, count] : seen)
            qInfo("%s: %d", collectiveName(kind).c_str(), count);
        QVERIFY(seen.size() >= 2);
    }

    void aMissingOrUnfitInputIsNamed() {
        auto missing = execute(sumPlan(2), options(), {});
        QVERIFY(!missing);
        QCOMPARE(QString::fromStdString(missing.error().text()),
                 QString("input `x`: no value was given; expected FLOAT [4,8]"));
        auto wrong = execute(sumPlan(2), options(),
                             {{"x", tensor(
                                        {4, 9}, [](auto) { return 0; }, T::INT32)}});
        QVERIFY(!wrong);
        QCOMPARE(QString::fromStdString(wrong.error().text()),
                 QString("input `x`: found INT32 [4,9], expected FLOAT [4,8]"));
    }

    void aKernelThatFailsNamesItsSegmentAndFreesTheOthers() {
        Plan plan = sumPlan(4);
        Segment& broken = plan.devices[2].segments[0];
        broken.modelBytes = ModelBuilder{}
                                .input("x", {4, 8})
                                .op("NoSuchOperator", {"x"}, {"part"})
                                .output("part", {4, 8})
                                .bytes();
        auto result = execute(plan, options(), {{"x", tensor({4, 8}, [](auto) { return 0; })}});
        QVERIFY(!result);
        const QString text = QString::fromStdString(result.error().text());
        QVERIFY2(text.startsWith("device 2, segment 0 of 1 nodes: ONNX Runtime: "),
                 qPrintable(text));
        QVERIFY2(text.contains("NoSuchOperator"), qPrintable(text));
    }

    void anOutputOfAnotherShapeIsAnError() {
        Plan plan = sumPlan(2);
        plan.devices[1].segments[0].modelBytes = ModelBuilder{}
                                                     .input("x", {4, 8})
                                                     .op("ReduceSum", {"x"}, {"part"})
                                                     .output("part", {"a", "b"})
                                                     .bytes();
        auto result = execute(plan, options(), {{"x", tensor({4, 8}, [](auto) { return 0; })}});
        QVERIFY(!result);
        QVERIFY(result.error().place.find("device 1") == 0);
    }

    void aLongRunIsCancelledSoon() {
        using Clock = std::chrono::steady_clock;
        const auto cancel = CancelToken::create();
        auto settings = options();
        settings.warmups = 0;
        settings.repeats = 1'000'000'000;
        Clock::time_point cancelled;
        std::thread canceller([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            cancelled = Clock::now();
            cancel.cancel();
        });
        auto result =
            execute(sumPlan(2), settings, {{"x", tensor({4, 8}, [](auto) { return 0; })}}, cancel);
        const auto took = Clock::now() - cancelled;
        canceller.join();
        QVERIFY(!result);
        QCOMPARE(result.error().message, std::string(kCancelled));
        QVERIFY(took < std::chrono::seconds(1));  // 200 ms on a machine that is not busy.
    }

    void aTimeLimitEndsTheRun() {
        auto settings = options();
        settings.repeats = 1'000'000'000;
        settings.timeLimitSeconds = 0.2;
        auto result =
            execute(sumPlan(2), settings, {{"x", tensor({4, 8}, [](auto) { return 0; })}});
        QVERIFY(!result);
        QVERIFY(result.error().message.find("longer than its limit of 0.2") != std::string::npos);
        QVERIFY(result.error().place.find("device 1 in phase 0") != std::string::npos);
    }

    void aLibraryThatIsNoOnnxRuntimeIsRefused() {
        const auto missing = OrtRuntime::load("/nonexistent/libonnxruntime.so");
        QVERIFY(!missing);
        QVERIFY(missing.error().message.find("not a usable ONNX Runtime") == 0);
        const auto other = OrtRuntime::load("libm.so.6");
        QVERIFY(!other);
        QCOMPARE(other.error().message,
                 std::string("not a usable ONNX Runtime: it has no OrtGetApiBase"));
    }

private:
    /// Executes a reshard as a plan of its own whose inputs are the terms, and looks at every
    /// element afterwards.
    void checkReshard(const std::vector<SourcePiece>& sources, ReduceKind reduce,
                      const Layout& target, const ReshardPlan& reshard,
                      const std::vector<std::int64_t>& shape, int terms) {
        PlanMaker maker(4, 1);
        std::vector<std::vector<std::vector<int>>> held(static_cast<std::size_t>(terms),
                                                        std::vector<std::vector<int>>(4));
        std::vector<std::vector<int>> all(4), targets(4);
        int n = 0;
        for (const SourcePiece& piece : sources)
            for (const DeviceId d : piece.devices) {
                if (piece.box.empty())
                    continue;
                const int index =
                    maker.add(d, "s" + std::to_string(n++), piece.box, T::FLOAT, piece.term);
                held[static_cast<std::size_t>(piece.term)][static_cast<std::size_t>(d)].push_back(
                    index);
                all[static_cast<std::size_t>(d)].push_back(index);
            }
        for (int d = 0; d < 4; ++d)
            for (const Box& box : target.holding(d))
                targets[static_cast<std::size_t>(d)].push_back(
                    maker.add(d, "t" + std::to_string(n++), box));
        std::int64_t bytes = 0;
        std::set<DeviceId> grouped;
        for (const GroupOperation& group : reshard.groups) {
            Exchange exchange;
            exchange.operation = group;
            exchange.elementType = T::FLOAT;
            for (const DeviceId d : group.devices) {
                exchange.sources.push_back(all[static_cast<std::size_t>(d)]);
                exchange.targets.push_back(targets[static_cast<std::size_t>(d)]);
                grouped.insert(d);
            }
            bytes += group.bytes;
            maker.plan.exchanges[0].push_back(std::move(exchange));
        }
        for (int d = 0; d < 4; ++d)
            if (grouped.count(d) == 0)
                for (const int index : targets[static_cast<std::size_t>(d)])
                    maker.plan.devices[static_cast<std::size_t>(d)].copies.push_back(
                        {0, all[static_cast<std::size_t>(d)], index, reduce});
        InputSet inputs;
        for (int term = 0; term < terms; ++term) {
            const std::string name = "x" + std::to_string(term);
            maker.plan.inputs.push_back(
                maker.port(name, shape, held[static_cast<std::size_t>(term)]));
            inputs.emplace(name,
                           tensor(shape, [&](auto i) { return (i + 1) * std::pow(10, term); }));
        }
        maker.plan.outputs.push_back(maker.port("y", shape, targets));
        auto result = execute(maker.plan, options(), inputs);
        QVERIFY2(result, result ? "" : result.error().text().c_str());
        RunResult::Output reference{{}, "y", T::FLOAT, shape, {}};
        const double factor = terms == 1 ? 1 : terms == 2 ? 11 : 1111;
        reference.pieces.push_back(
            {0, Box::whole(shape), tensor(shape, [&](auto i) { return (i + 1) * factor; })});
        const TensorCheck check = checkTensor(result->outputs[0], reference, 0);
        QVERIFY2(check.agrees, (collectiveName(reshard.kind) + ": " + check.note).c_str());
        std::int64_t executed = 0, count = 0;
        for (const auto& [kind, total] : result->executed) {
            QCOMPARE(kind, reshard.kind);
            executed += total.bytes;
            count += total.count;
        }
        QCOMPARE(count, static_cast<std::int64_t>(reshard.groups.size()));
        QCOMPARE(executed, bytes);
    }
};

QTEST_GUILESS_MAIN(TstExecutor)
#include "tst_executor.moc"
