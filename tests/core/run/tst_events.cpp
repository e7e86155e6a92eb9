// SPDX-License-Identifier: Apache-2.0
#include "run/run_events.h"

#include <QTest>

using namespace shardwright;

namespace {

RunReport fullReport() {
    RunReport report;
    report.verified = false;
    report.outputs = {{"y", 0.5, 0.25, 1e-5, false, "differs most on device 1"}};
    report.tensors = {{"h", 0, 0, 1e-5, true, ""}};
    report.firstDivergent = RunDivergence{report.outputs[0],
                                          {"mm2", 2, "layer.0"},
                                          "MatMul",
                                          "replicated",
                                          "all-reduce of `y` on devices 0, 1"};
    report.devices = {{0, 1, 2, 3, 4, 500}, {1, 1.5, 2.5, 3.5, 4.5, 600}};
    report.predicted = {{"all-reduce", {1, 32768}}};
    report.executed = {{"all-reduce", {1, 32768}}, {"send", {2, 10}}};
    report.wallMs = 12.5;
    report.passesMs = {12.5, 13};
    report.bindings = {{"batch", 8}, {"x#1", 3}};
    report.configuration = "default";
    report.mesh = "tp=2";
    report.kernels = "ONNX Runtime, CPU";
    report.transport = "Open MPI";
    report.seed = 7;
    report.randomInputs = false;
    report.predictedBytes = 5'000'000'000;
    report.availableBytes = 6;
    report.peakResidentBytes = 7;
    report.startMs = 8.5;
    report.collectives = {{"all-reduce",
                           "m",
                           {"mm2", 2, "layer.0"},
                           {0, 1},
                           256,
                           3,
                           12.5,
                           2.5,
                           1e9,
                           6.5,
                           "ring: ..."},
                          {"send", "", {}, {1, 2}, 16, 4, 1, 0, 2e9, -1, ""}};
    report.operators = {{1, 2, {"mm1", 0, ""}, "FusedGemm", "fused mm1/x", 4, 17, 70}};
    report.hardware = "wire";
    return report;
}

std::vector<RunEvent> someEvents() {
    RunShard shard{"h", true, 1,    1, {4, 6},   {{{0, 2}}, {{0, 1}, {3, 5}}}, {2, 3}, -1,
                   2,   0.5,  0.25, 3, {1, 2, 3}};
    return {RunLog{"hello"},
            RunProgress{RunStage::Verify, 0.5},
            RunDeviceTiming{1, 2, 3, 4, 5, 6, 7},
            RunSegmentTiming{1, 2, 3, {"n\xff", 4, "s"}, 5, 6},
            RunExchangeTiming{1, 2, "all-reduce", "t", {"n", 4, ""}, {0, 1}, 99, 1, 2, 3},
            shard,
            RunTensorCheck{"y", 1, 2, 3, true, "n", "h"},
            fullReport(),
            RunFailure{RunFailure::Kind::Memory, "wrong", "SW301", 20, 10},
            RunMemory{1, 2000, 3000, 4000}};
}

}  // namespace

class TstEvents : public QObject {
    Q_OBJECT

private slots:
    void eventsComeBackAsTheyWereInWhateverPieces() {
        std::string bytes;
        const auto events = someEvents();
        for (const RunEvent& event : events)
            bytes += encodeEvent(event);
        for (const std::size_t piece : {std::size_t(1), std::size_t(7), bytes.size()}) {
            EventParser parser;
            std::vector<RunEvent> back;
            for (std::size_t at = 0; at < bytes.size(); at += piece) {
                auto some = parser.feed(std::string_view(bytes).substr(at, piece));
                QVERIFY(some);
                back.insert(back.end(), some->begin(), some->end());
            }
            QVERIFY(!parser.partial());
            QCOMPARE(back.size(), events.size());
            QCOMPARE(std::get<RunLog>(back[0]).message, std::string("hello"));
            QVERIFY(std::get<RunProgress>(back[1]).stage == RunStage::Verify);
            QVERIFY(std::get<RunSegmentTiming>(back[3]) == std::get<RunSegmentTiming>(events[3]));
            QVERIFY(std::get<RunExchangeTiming>(back[4]) == std::get<RunExchangeTiming>(events[4]));
            QVERIFY(std::get<RunShard>(back[5]) == std::get<RunShard>(events[5]));
            QVERIFY(std::get<RunTensorCheck>(back[6]) == std::get<RunTensorCheck>(events[6]));
            QVERIFY(std::get<RunReport>(back[7]) == fullReport());
            QVERIFY(std::get<RunFailure>(back[8]) == std::get<RunFailure>(events[8]));
            QVERIFY(std::get<RunMemory>(back[9]) == std::get<RunMemory>(events[9]));
        }
    }

    void whatIsNoEventIsRefusedForGood() {
        EventParser parser;
        QVERIFY(!parser.feed("Segmentation fault (core dumped) and more words"));
        QVERIFY(!parser.feed(encodeEvent(RunLog{"x"})));
        EventParser other;
        QVERIFY(!other.feed("\xff\xff\xff\xff\x7f"));
    }

    void aSignOfLifeIsNoEvent() {
        EventParser parser;
        const auto events =
            parser.feed(std::string(2, '\0') + encodeEvent(RunLog{"x"}) + std::string(1, '\0'));
        QVERIFY(events && events->size() == 1);
        QVERIFY(!parser.partial());
    }

    void aPartOfAnEventIsKept() {
        EventParser parser;
        const std::string bytes = encodeEvent(RunLog{"half"});
        auto events = parser.feed(std::string_view(bytes).substr(0, 3));
        QVERIFY(events && events->empty() && parser.partial());
        events = parser.feed(std::string_view(bytes).substr(3));
        QVERIFY(events && events->size() == 1);
    }

    void requestsComeBackAsTheyWere() {
        RunRequest request;
        request.modelPath = "/models/m.onnx";
        request.modelBytes = std::string("\0bytes", 6);
        request.configuration = "c";
        request.strictProfile = true;
        request.bindings = {{"batch", 4}};
        request.bindingFallback = 6;
        request.seed = 42;
        request.inputsPath = "in.npz";
        request.verify = VerifyMode::All;
        request.tolerance = 0.5;
        request.warmups = 0;
        request.repeats = 7;
        request.tracePath = "t.json";
        request.saveShardsFolder = "shards";
        request.transport = Transport::Mpi;
        request.backend = Backend::Cuda;
        request.observe = {"h", "a"};
        request.maxShardValues = 10;
        request.timeLimitSeconds = 60;
        request.silenceLimitSeconds = 7;
        request.optimise = false;
        request.intraOpThreads = 2;
        request.profile = true;
        request.hardware = "{}";
        request.hardwareName = "p.json";
        const std::string bytes = encodeRequest(request);
        std::string_view rest = bytes;
        const auto message = takeMessage(rest);
        QVERIFY(message && *message && rest.empty());
        const auto back = decodeRequest(**message);
        QVERIFY(back);
        QCOMPARE(encodeRequest(*back), bytes);
        QCOMPARE(back->modelBytes, request.modelBytes);
        QCOMPARE(back->observe, request.observe);
        QVERIFY(back->profile && back->hardware == "{}" && back->hardwareName == "p.json");
        QVERIFY(back->verify == VerifyMode::All && !back->optimise && back->warmups == 0);
    }
};

QTEST_GUILESS_MAIN(TstEvents)
#include "tst_events.moc"
