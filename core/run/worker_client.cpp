// SPDX-License-Identifier: Apache-2.0
#include "run/worker_client.h"

#include "run/mpi_launch.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>

extern char** environ;

namespace shardwright {

namespace {

using Clock = std::chrono::steady_clock;
using Outcome = std::variant<RunReport, RunFailure>;

/// A file descriptor that is closed at the end.
class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int fd) : m_fd(fd) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() { close(); }
    void set(int fd) {
        close();
        m_fd = fd;
    }
    int get() const { return m_fd; }
    void close() {
        if (m_fd >= 0)
            ::close(m_fd);
        m_fd = -1;
    }

private:
    int m_fd = -1;
};

class WorkerProcess {
public:
    WorkerProcess(const RunRequest& request, const std::function<void(const RunEvent&)>& sink,
                  const CancelToken& cancel, const WorkerOptions& options)
        : m_request(request), m_sink(sink), m_cancel(cancel), m_options(options) {}

    ~WorkerProcess() {
        if (m_pid > 0) {
            kill(m_pid, SIGKILL);
            waitpid(m_pid, nullptr, 0);
        }
        if (m_words)
            std::fclose(m_words);
    }

    Outcome run() {
        if (auto started = start(); !started)
            return RunFailure{RunFailure::Kind::Failed, started.error().message,
                              started.error().place};
        const std::string bytes = encodeRequest(m_request);
        m_begin = m_listened = Clock::now();
        std::size_t sent = 0;
        while (m_output.get() >= 0 && !m_outcome)
            step(bytes, sent);
        return end();
    }

private:
    Result<void> start() {
        std::filesystem::path program = m_options.program;
        if (program.empty()) {
            auto found = findWorker();
            if (!found)
                return found.error();
            program = *found;
        }
        std::vector<std::string> words{program.string()};
        if (m_request.transport == Transport::Mpi) {
            auto launch = MpiLaunch::prepare(m_request, program, m_options.mpiOptions);
            if (!launch)
                return launch.error();
            words = launch->command();
            m_launch.emplace(std::move(*launch));
            // What mpirun says is of interest only if there is no report.
            if (m_words = std::tmpfile(); !m_words)
                return Error{std::string("cannot make a file: ") + std::strerror(errno), {}};
        }
        // A socket rather than a pipe for its input: writing to a worker that is gone is an error
        // then, not a signal.
        int in[2], out[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) != 0)
            return Error{std::string("cannot make a socket: ") + std::strerror(errno), {}};
        m_input.set(in[0]);
        Descriptor childIn(in[1]);
        if (pipe2(out, O_CLOEXEC) != 0)
            return Error{std::string("cannot make a pipe: ") + std::strerror(errno), {}};
        m_output.set(out[0]);
        Descriptor childOut(out[1]);
        fcntl(m_input.get(), F_SETFL, O_NONBLOCK);
        fcntl(m_output.get(), F_SETFL, O_NONBLOCK);
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, childIn.get(), STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&actions, childOut.get(), STDOUT_FILENO);
        if (m_words)
            posix_spawn_file_actions_adddup2(&actions, fileno(m_words), STDERR_FILENO);
        std::vector<char*> arguments;
        for (std::string& word : words)
            arguments.push_back(word.data());
        arguments.push_back(nullptr);
        const int error = posix_spawn(&m_pid, words.front().c_str(), &actions, nullptr,
                                      arguments.data(), environ);
        posix_spawn_file_actions_destroy(&actions);
        if (error != 0) {
            m_pid = -1;
            return Error{std::string("the worker cannot be started: ") + std::strerror(error),
                         words.front()};
        }
        return {};
    }

    void step(const std::string& request, std::size_t& sent) {
        pollfd polled[] = {{m_output.get(), POLLIN, 0}, {m_input.get(), POLLOUT, 0}};
        const bool writing = sent < request.size() && m_input.get() >= 0;
        // A token has no event to wait for; 20 ms are not noticed.
        poll(polled, writing ? 2 : 1, 20);
        listen(polled[0].revents != 0);
        if (writing && (polled[1].revents & (POLLOUT | POLLERR | POLLHUP))) {
            const ssize_t n =
                send(m_input.get(), request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
            if (n > 0)
                sent += static_cast<std::size_t>(n);
            else if (n < 0 && errno != EAGAIN && errno != EINTR)
                m_input.close();
        }
        if (polled[0].revents & (POLLIN | POLLHUP | POLLERR))
            readEvents();
        watchTime();
    }

    void readEvents() {
        char buffer[1 << 16];
        while (!m_outcome) {
            const ssize_t n = read(m_output.get(), buffer, sizeof buffer);
            if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
            if (n <= 0) {
                m_output.close();
                return;
            }
            auto events = m_parser.feed({buffer, static_cast<std::size_t>(n)});
            if (!events) {
                m_outcome = RunFailure{RunFailure::Kind::Failed, events.error().message, {}};
                kill(m_pid, SIGKILL);
                return;
            }
            for (const RunEvent& event : *events)
                take(event);
        }
    }

    void take(const RunEvent& event) {
        // mpirun closes standard input, too, when a process has died: it says so when it ends.
        const auto* end = std::get_if<RunFailure>(&event);
        if (end && end->kind == RunFailure::Kind::Cancelled && m_launch && !m_stopping)
            return;
        if (const auto* report = std::get_if<RunReport>(&event))
            m_outcome = *report;
        else if (const auto* failure = std::get_if<RunFailure>(&event))
            m_outcome = *failure;
        m_sink(event);
    }

    /// How long the worker has been silent, in the time that this process was looking: it may have
    /// been stopped itself. Until the first sign mpirun may have to reach other hosts.
    void listen(bool heard) {
        const auto now = Clock::now();
        m_silence += std::min(0.5, std::chrono::duration<double>(now - m_listened).count());
        m_listened = now;
        m_heard = m_heard || heard;
        if (heard)
            m_silence = 0;
        const double limit = m_request.silenceLimitSeconds * (m_heard ? 1 : 6);
        if (m_request.silenceLimitSeconds <= 0 || m_silence <= limit || m_stopping)
            return;
        m_outcome = RunFailure{RunFailure::Kind::Failed,
                               (m_launch ? "the first process of the run" : "the worker") +
                                   std::string(" hangs: it has given no sign of life for ") +
                                   std::to_string(std::lround(limit)) + " s",
                               {}};
        m_sink(std::get<RunFailure>(*m_outcome));
        kill(m_pid, SIGKILL);
    }

    void watchTime() {
        const auto seconds = [](Clock::time_point since) {
            return std::chrono::duration<double>(Clock::now() - since).count();
        };
        const double limit = m_request.timeLimitSeconds;
        // The worker watches the limit itself, and is given time to say where it was.
        const bool late = limit > 0 && seconds(m_begin) > limit + m_options.cancelGraceSeconds;
        if (!m_stopping && (m_cancel.cancelled() || late)) {
            m_stopping = true;
            m_late = late && !m_cancel.cancelled();
            m_stopBegin = Clock::now();
            m_input.close();  // Tells it to stop.
        }
        if (m_stopping && seconds(m_stopBegin) > (m_late ? 0 : grace() + (m_launch ? 0.1 : 0))) {
            kill(m_pid, SIGKILL);
            m_output.close();
        }
    }

    Outcome end() {
        m_input.close();
        int status = 0;
        // It has said its last word; what it still has to free is not waited for.
        const auto begin = Clock::now();
        const bool failed =
            m_stopping || (m_outcome && std::holds_alternative<RunFailure>(*m_outcome));
        while (waitpid(m_pid, &status, WNOHANG) == 0) {
            if (std::chrono::duration<double>(Clock::now() - begin).count() >
                (failed ? grace() : m_options.cancelGraceSeconds))
                kill(m_pid, SIGKILL);
            usleep(1000);
        }
        m_pid = -1;
        if (m_outcome)
            return *m_outcome;
        RunFailure failure{RunFailure::Kind::Failed, {}, {}};
        if (m_late)
            failure.message = "the worker did not end within its time limit of " +
                              std::to_string(m_request.timeLimitSeconds) + " s";
        else if (m_stopping)
            failure = {RunFailure::Kind::Cancelled, "cancelled", {}};
        else
            failure.message =
                m_launch ? mpiEnd(status)
                         : "the worker " + (!describeEnd(status).empty() ? describeEnd(status)
                                            : m_parser.partial() ? "ended in the middle of an event"
                                                                 : "ended without a result");
        m_sink(failure);
        return failure;
    }

    /// mpirun takes a second to end processes one after the other; they are told to end with it.
    double grace() const {
        return m_launch ? std::min(0.1, m_options.cancelGraceSeconds)
                        : m_options.cancelGraceSeconds;
    }

    std::string mpiEnd(int status) {
        std::string text;
        char buffer[4096];
        std::rewind(m_words);
        while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, m_words))
            text.append(buffer, n);
        const std::string words = mpirunWords(text), end = describeEnd(status);
        return "the processes of the run ended without a result" +
               (end.empty() || !words.empty() ? std::string() : ": mpirun " + end) +
               (words.empty() ? std::string() : ": " + words);
    }

    const RunRequest& m_request;
    const std::function<void(const RunEvent&)>& m_sink;
    const CancelToken& m_cancel;
    const WorkerOptions& m_options;
    pid_t m_pid = -1;
    Descriptor m_input, m_output;
    EventParser m_parser;
    std::optional<Outcome> m_outcome;
    std::optional<MpiLaunch> m_launch;
    std::FILE* m_words = nullptr;  ///< mpirun's standard error.
    bool m_stopping = false, m_late = false;
    Clock::time_point m_begin, m_stopBegin, m_listened;
    double m_silence = 0;
    bool m_heard = false;  ///< Anything at all.
};

}  // namespace

Result<std::filesystem::path> findWorker() {
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    const auto worker = self.parent_path() / "shardwright-worker";
    if (error || !std::filesystem::exists(worker, error))
        return Error{"shardwright-worker is not beside the program", self.parent_path().string()};
    return worker;
}

std::string describeEnd(int status) {
    if (WIFSIGNALED(status)) {
        const int signal = WTERMSIG(status);
        if (signal == SIGKILL)
            return "was killed, probably for lack of memory";
        return std::string("crashed: ") + strsignal(signal) + " (signal " + std::to_string(signal) +
               ")";
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) > 2)
        return "ended with code " + std::to_string(WEXITSTATUS(status));
    return {};
}

std::variant<RunReport, RunFailure> runInWorker(const RunRequest& request,
                                                const std::function<void(const RunEvent&)>& sink,
                                                const CancelToken& cancel,
                                                const WorkerOptions& options) {
    return WorkerProcess(request, sink, cancel, options).run();
}

}  // namespace shardwright
