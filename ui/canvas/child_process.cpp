// SPDX-License-Identifier: Apache-2.0
#include "ui/canvas/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>

extern char** environ;

namespace shardwright {

namespace {

constexpr std::size_t kMaxOutput = 64 << 20;
constexpr int kPollMilliseconds = 20;

class Descriptor {
public:
    explicit Descriptor(int fd = -1) : m_fd(fd) {}
    ~Descriptor() { close(); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return m_fd; }
    void close() {
        if (m_fd >= 0)
            ::close(m_fd);
        m_fd = -1;
    }

private:
    int m_fd;
};

/// An unnamed file: unlike a pipe it cannot block, nor raise SIGPIPE when the program ends early.
std::unique_ptr<std::FILE, int (*)(std::FILE*)> fileWith(const std::string& text) {
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
    if (file && (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() ||
                 std::fflush(file.get()) != 0 || ::lseek(::fileno(file.get()), 0, SEEK_SET) != 0))
        file.reset();
    return file;
}

bool spawn(const std::vector<std::string>& command, int input, int output, pid_t& pid) {
    std::vector<char*> arguments;
    for (const std::string& word : command)
        arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    const int error =
        posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    return error == 0;
}

/// Reads until the end; false when it took too long, was cancelled or too much came.
bool readAll(int fd, std::string& text, int milliseconds, const CancelToken& cancel) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    std::array<char, 65536> buffer;
    while (std::chrono::steady_clock::now() < end && !cancel.cancelled() &&
           text.size() < kMaxOutput) {
        pollfd waiting{fd, POLLIN, 0};
        const int ready = ::poll(&waiting, 1, kPollMilliseconds);
        if (ready == 0 || (ready < 0 && errno == EINTR))
            continue;
        const ssize_t count = ready < 0 ? -1 : ::read(fd, buffer.data(), buffer.size());
        if (count <= 0)
            return count == 0;
        text.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return false;
}

}  // namespace

std::optional<std::string> runProgram(const std::vector<std::string>& command,
                                      const std::string& input, int milliseconds,
                                      const CancelToken& cancel) {
    const auto file = fileWith(input);
    int ends[2];
    if (!file || ::pipe2(ends, O_CLOEXEC) != 0)
        return std::nullopt;
    Descriptor read(ends[0]), write(ends[1]);
    pid_t pid = -1;
    if (!spawn(command, ::fileno(file.get()), write.get(), pid))
        return std::nullopt;
    write.close();
    std::string text;
    const bool complete = readAll(read.get(), text, milliseconds, cancel);
    if (!complete)
        ::kill(pid, SIGKILL);
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (!complete || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return std::nullopt;
    return text;
}

}  // namespace shardwright
