/* SPDX-License-Identifier: Apache-2.0 */
/* listen.c - listens, accepts, and tells by where a client comes from whether it is trusted. */
#include "demo-db/server/net/listen.h"
#include "demo-db/server/net/protocol.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 512

static int complain(char *message, const char *what, const char *where)
{
	snprintf(message, LISTEN_MESSAGE_MAX, "%s %.120s: %s", what, where, strerror(errno));
	return -1;
}

static int add(struct listeners *listeners, int fd, bool local, const char *path)
{
	struct listener *listener = &listeners->list[listeners->count++];
	*listener = (struct listener){ .all = listeners, .local = local };
	listener->source.fd = fd;
	snprintf(listener->path, sizeof listener->path, "%s", path);
	return 0;
}

/* ---- The Unix socket ------------------------------------------------------------------------- */

/* A file left over by a server that was killed may go; a living one's may not. */
static int clear_path(const struct sockaddr_un *address, char *message)
{
	struct stat status;
	if (lstat(address->sun_path, &status))
		return 0;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool alive = fd >= 0 && connect(fd, (const void *)address, sizeof *address) == 0;
	if (fd >= 0)
		close(fd);
	if (!alive && S_ISSOCK(status.st_mode) && unlink(address->sun_path) == 0)
		return 0;
	errno = EADDRINUSE;
	return complain(message, "cannot listen on", address->sun_path);
}

static int open_socket(struct listeners *listeners, char *message)
{
	const char *dir = listeners->options.socket_dir;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int bytes = snprintf(address.sun_path, sizeof address.sun_path, "%s/.s.PGSQL.%u", dir,
		(unsigned)listeners->options.port);
	if (bytes >= (int)sizeof address.sun_path) {
		errno = ENAMETOOLONG;
		return complain(message, "cannot listen in", dir);
	}
	if (clear_path(&address, message))
		return -1;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, (void *)&address, sizeof address) || listen(fd, BACKLOG)) {
		complain(message, "cannot listen on", address.sun_path);
		if (fd >= 0)
			close(fd);
		return -1;
	}
	chmod(address.sun_path, 0777);
	return add(listeners, fd, true, address.sun_path);
}

/* ---- TCP ------------------------------------------------------------------------------------- */

static int listen_at(const struct addrinfo *at)
{
	int on = 1;
	int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (at->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
	if (bind(fd, at->ai_addr, at->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	int error = errno;
	close(fd);
	errno = error;
	return -1;
}

static int open_tcp(struct listeners *listeners, char *message)
{
	const char *host = listeners->options.address;
	struct addrinfo *found, hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
	char port[8], where[160];
	if (!host[0] || strcmp(host, "none") == 0)
		return 0;
	snprintf(port, sizeof port, "%u", (unsigned)listeners->options.port);
	snprintf(where, sizeof where, "%.120s port %s", host, port);
	int status = getaddrinfo(host, port, &hints, &found);
	if (status) {
		snprintf(message, LISTEN_MESSAGE_MAX, "cannot listen on %.120s: %s", where,
			gai_strerror(status));
		return -1;
	}
	for (const struct addrinfo *at = found; at && status == 0; at = at->ai_next) {
		int fd = listeners->count < LISTEN_MAX ? listen_at(at) : -1;
		status = fd < 0 ? complain(message, "cannot listen on", where)
				: add(listeners, fd, false, "");
	}
	freeaddrinfo(found);
	return status;
}

int listen_open(struct listeners *listeners, const struct listen_options *options,
	char message[LISTEN_MESSAGE_MAX])
{
	listeners->options = *options;
	if (open_socket(listeners, message) == 0 && open_tcp(listeners, message) == 0)
		return 0;
	listen_close(listeners);
	return -1;
}

static void close_one(struct listener *listener)
{
	close(listener->source.fd);
	listener->source.fd = -1;
	if (listener->path[0])
		unlink(listener->path);
}

void listen_close(struct listeners *listeners)
{
	for (uint32_t i = 0; i < listeners->count; i++)
		if (listeners->list[i].source.fd >= 0)
			close_one(&listeners->list[i]);
	listeners->count = 0;
}

bool listen_owns(const struct listeners *listeners, const struct reactor_source *source)
{
	uintptr_t at = (uintptr_t)source, from = (uintptr_t)listeners->list;
	return at >= from && at < from + sizeof listeners->list;
}

void listen_kick(struct listeners *listeners, struct reactor *reactor, bool starved_only)
{
	for (uint32_t i = 0; i < listeners->count; i++) {
		struct listener *listener = &listeners->list[i];
		bool starved =
			atomic_exchange_explicit(&listener->starved, false, memory_order_relaxed);
		if (starved || !starved_only)
			reactor_kick(reactor, &listener->source);
	}
}

/* ---- Accepting ------------------------------------------------------------------------------- */

static bool is_loopback(const struct sockaddr_storage *peer)
{
	const struct sockaddr_in *v4 = (const void *)peer;
	const struct sockaddr_in6 *v6 = (const void *)peer;
	if (peer->ss_family == AF_INET)
		return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
	return peer->ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

static void name_peer(const struct sockaddr_storage *peer, char *text, size_t bytes)
{
	const struct sockaddr_in *v4 = (const void *)peer;
	const struct sockaddr_in6 *v6 = (const void *)peer;
	snprintf(text, bytes, "%s", LISTEN_LOCAL);
	if (peer->ss_family == AF_INET)
		inet_ntop(AF_INET, &v4->sin_addr, text, (socklen_t)bytes);
	else if (peer->ss_family == AF_INET6)
		inet_ntop(AF_INET6, &v6->sin6_addr, text, (socklen_t)bytes);
}

/* Nobody is left to wait: the answer is as short as can be, and is not waited for. */
static void turn_away(struct listeners *listeners, int fd)
{
	const struct wire_report report = { .severity = "FATAL",
		.sqlstate = "53300",
		.message = "sorry, too many clients already" };
	struct wire_out out = { 0 };
	atomic_fetch_add_explicit(&listeners->turned_away, 1, memory_order_relaxed);
	wire_error(&out, &report);
	if (!out.failed)
		send(fd, out.data, out.bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
	wire_out_free(&out);
	close(fd);
}

static void welcome(struct listener *listener, int fd, const struct sockaddr_storage *peer)
{
	struct listeners *all = listener->all;
	const struct listen_options *options = &all->options;
	char address[64];
	int on = 1;
	bool trusted = options->trust_local && (listener->local || is_loopback(peer));
	name_peer(peer, address, sizeof address);
	if (!listener->local) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
		/* a machine that vanished says nothing: its session would stay, locks and all */
		setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
	}
	if (options->welcome(options->arg, fd, trusted, address))
		turn_away(all, fd);
}

enum reactor_answer listen_serve(struct reactor *reactor, struct listener *listener)
{
	const struct listen_options *options = &listener->all->options;
	struct sockaddr_storage peer;
	if (options->is_draining(options->arg)) {
		reactor_remove(reactor, &listener->source);
		close_one(listener);
		return REACTOR_GONE;
	}
	for (;;) {
		socklen_t bytes = sizeof peer;
		peer.ss_family = AF_UNIX;
		int fd = accept4(
			listener->source.fd, (void *)&peer, &bytes, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0)
			welcome(listener, fd, &peer);
		else if (errno == EAGAIN || errno == EWOULDBLOCK)
			break;
		else if (errno != EINTR && errno != ECONNABORTED) {
			/* no descriptor or no memory; no edge will tell of those who wait here */
			atomic_store_explicit(&listener->starved, true, memory_order_relaxed);
			break;
		}
	}
	return REACTOR_WAIT;
}
