// SPDX-License-Identifier: Apache-2.0
// Reads one request on standard input, runs it, and writes events on standard output, as
// run/events.proto says. SIGTERM, SIGINT or the end of standard input cancel. Exit codes: 0 done, 1
// the model has errors or is not verified, 2 anything else.
//
// With --mpi it is one of the processes that mpirun started, one a device; the first has the
// request and gives the events of all.
#include "run/mpi_processes.h"
#include "run/run_job.h"

#include <malloc.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>

namespace {

using namespace shardwright;

/// Reads the bytes of the request; what follows it is not looked at.
Result<std::string> readRequest() {
    std::string bytes;
    char buffer[1 << 16];
    while (true) {
        std::string_view rest = bytes;
        auto message = takeMessage(rest);
        if (!message)
            return message.error();
        if (*message)
            return std::string(**message);
        const ssize_t n = read(STDIN_FILENO, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return Error{"the request is cut off", "standard input"};
        bytes.append(buffer, static_cast<std::size_t>(n));
    }
}

/// Writes events, one at a time; cancels when nobody reads them.
class EventWriter {
public:
    EventWriter(int fd, CancelToken cancel) : m_fd(fd), m_cancel(std::move(cancel)) {}

    void write(const RunEvent& event) {
        const std::lock_guard lock(m_mutex);
        send(event);
    }

    /// A sign of life, where there is nothing else to say at the moment.
    void beat() {
        const std::unique_lock lock(m_mutex, std::try_to_lock);
        if (lock.owns_lock() && !m_ended)
            sendBytes(std::string(1, '\0'));
    }

    /// Writes the last event, unless there was one, or the pipe is full and stays so.
    void writeLast(const RunEvent& event, std::chrono::milliseconds patience) {
        const auto end = std::chrono::steady_clock::now() + patience;
        std::unique_lock lock(m_mutex, std::try_to_lock);
        while (!lock.owns_lock() && std::chrono::steady_clock::now() < end) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            lock.try_lock();
        }
        if (lock.owns_lock())
            send(event);
    }

private:
    void send(const RunEvent& event) {
        if (m_ended)
            return;
        m_ended =
            std::holds_alternative<RunReport>(event) || std::holds_alternative<RunFailure>(event);
        sendBytes(encodeEvent(event));
    }
    void sendBytes(const std::string& bytes) {
        for (std::size_t done = 0; done < bytes.size() && !m_broken;) {
            const ssize_t n = ::write(m_fd, bytes.data() + done, bytes.size() - done);
            if (n < 0 && errno == EINTR)
                continue;
            m_broken = n <= 0;
            done += m_broken ? 0 : static_cast<std::size_t>(n);
        }
        if (m_broken)
            m_cancel.cancel();
    }

    const int m_fd;
    const CancelToken m_cancel;
    std::mutex m_mutex;  ///< Not a timed one, whose locks ThreadSanitizer does not see.
    bool m_broken = false;
    bool m_ended = false;  ///< A report or a failure was written.
};

/// Waits for a signal or the end of standard input, and cancels. A kernel cannot be stopped, only
/// the process that it runs in: who asked for the end is not kept waiting for it.
class StopWatcher {
public:
    /// Of signals, too, or of standard input only.
    StopWatcher(CancelToken cancel, EventWriter& writer, bool signals)
        : m_cancel(std::move(cancel)), m_writer(writer), m_done(eventfd(0, EFD_CLOEXEC)) {
        sigset_t set;
        sigemptyset(&set);
        if (signals) {
            sigaddset(&set, SIGTERM);
            sigaddset(&set, SIGINT);
        }
        // Before any other thread is started: all inherit it.
        pthread_sigmask(SIG_BLOCK, &set, nullptr);
        m_signals = signalfd(-1, &set, SFD_CLOEXEC);
    }
    void start() {
        m_thread = std::thread([this] { watch(); });
    }
    ~StopWatcher() {
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t n = write(m_done, &one, sizeof one);
        if (m_thread.joinable())
            m_thread.join();
        close(m_signals);
        close(m_done);
    }

private:
    void watch() const {
        pollfd polled[] = {{m_done, POLLIN, 0}, {m_signals, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
        while (true) {
            const int ready = poll(polled, 3, kBeatMs);
            if (ready < 0 && errno != EINTR)
                break;
            m_writer.beat();
            if (ready <= 0)
                continue;
            if (polled[0].revents)
                return;
            char buffer[256];
            if (polled[1].revents ||
                (polled[2].revents && read(STDIN_FILENO, buffer, sizeof buffer) <= 0))
                break;
        }
        m_cancel.cancel();
        pollfd done{m_done, POLLIN, 0};
        if (poll(&done, 1, 100) != 0)
            return;
        m_writer.writeLast(RunFailure{RunFailure::Kind::Cancelled, kCancelled, {}},
                           std::chrono::milliseconds(50));
        _exit(2);
    }

    static constexpr int kBeatMs = 1000;
    const CancelToken m_cancel;
    EventWriter& m_writer;
    const int m_done;
    int m_signals = -1;
    std::thread m_thread;
};

RunFailure usageFailure(const Error& error) {
    return RunFailure{RunFailure::Kind::Usage, error.message, error.place};
}

int runAlone(EventWriter& writer, const CancelToken& cancel) {
    const auto bytes = readRequest();
    const auto request = bytes ? decodeRequest(*bytes) : Result<RunRequest>(bytes.error());
    if (!request) {
        writer.write(usageFailure(request.error()));
        return 2;
    }
    StopWatcher watcher(cancel, writer, true);
    watcher.start();
    return exitCode(runJob(
        *request, [&](const RunEvent& event) { writer.write(event); }, cancel));
}

/// MPI cannot be ended in order once a process has given up: others may be in the middle of a call.
/// mpirun ends all when the first one ends, which is this one where it can still report.
[[noreturn]] void leaveFailed(bool first, int code) {
    if (!first)
        std::this_thread::sleep_for(std::chrono::seconds(5));
    // Whoever reads the events closes standard input when the last one has come.
    pollfd input{STDIN_FILENO, POLLIN | POLLHUP, 0};
    if (first)
        poll(&input, 1, 500);
    _exit(code);
}

int runOverMpi(EventWriter& writer, const CancelToken& cancel) {
    // mpirun may be killed, which it cannot pass on.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    auto library = loadMpi();
    if (!library) {
        writer.write(usageFailure(library.error()));
        return 2;
    }
    auto processes = connectMpi(**library);
    const bool first = processes->rank() == 0;
    const auto fail = [&](const RunFailure& failure) {
        if (first)
            writer.write(failure);
        processes->poison(failure.message);
        leaveFailed(first, 2);
    };
    auto bytes = first ? readRequest() : Result<std::string>(std::string());
    if (!bytes)
        fail(usageFailure(bytes.error()));
    bytes = processes->broadcast(std::move(*bytes));
    const auto request = bytes ? decodeRequest(*bytes) : Result<RunRequest>(bytes.error());
    if (!request)
        fail(usageFailure(request.error()));
    processes->watchOthers(request->silenceLimitSeconds, [&](const std::string& reason) {
        if (first)
            writer.writeLast(RunFailure{RunFailure::Kind::Failed, reason, {}},
                             std::chrono::milliseconds(500));
        leaveFailed(first, 2);
    });
    // Signals come from mpirun, when another process has ended: that is no wish of the user's.
    StopWatcher watcher(cancel, writer, false);
    if (first)
        watcher.start();
    const RunOutcome outcome = runJob(
        *request,
        [&](const RunEvent& event) {
            if (first)
                writer.write(event);
        },
        cancel, {}, processes.get());
    if (std::holds_alternative<RunFailure>(outcome))
        leaveFailed(first, exitCode(outcome));
    processes.reset();  // Nothing may be said any more.
    (*library)->finish();
    return exitCode(outcome);
}

}  // namespace

int main(int argc, char** argv) {
    const bool mpi = argc == 2 && std::strcmp(argv[1], "--mpi") == 0;
    if (argc > 1 && !mpi) {
        const bool version = std::strcmp(argv[1], "--version") == 0;
        std::fprintf(version ? stdout : stderr, "shardwright-worker %s\n", SHARDWRIGHT_VERSION);
        if (!version)
            std::fputs("Started by shardwright and shardwright-cli; reads a request on standard "
                       "input and writes events on "
                       "standard output (run/events.proto).\n",
                       stderr);
        return version ? 0 : 2;
    }
    // Nothing but events may get to standard output, whatever a library prints.
    const int out = dup(STDOUT_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    std::signal(SIGPIPE, SIG_IGN);
    // What is freed goes back to the system: else the copies of weights from which others are made
    // stay between those, and the process has nearly everything twice.
    mallopt(M_MMAP_THRESHOLD, 1 << 20);

    const CancelToken cancel = CancelToken::create();
    EventWriter writer(out, cancel);
    return mpi ? runOverMpi(writer, cancel) : runAlone(writer, cancel);
}
