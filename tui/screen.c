/* SPDX-License-Identifier: MIT */
/* Curses, and drawing, keys, signals and the prompt on top of it. A row (row.h) is drawn span by
 * span: the style of a span and the emphasis of its line make the attributes, by colours or
 * without. A field is always drawn to its end, so nothing is left of what stood there.
 *
 * Keys come one at a time. A change of size is a key, too, and so is ^Z: the viewer decides when to
 * stop. The signals that end btview give the terminal back first (end_by()).
 *
 * screen_prompt() reads a line of text by itself, with its own few keys. */
#include "tui/screen.h"

#include <curses.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "lib/array_size.h"
#include "tui/terminfo.h"

enum {
	ESCAPE_DELAY_MS = 25,
	KEY_ESCAPE = 27,
	KEY_CANCELS = 'G' & 0x1f,
	KEY_INTERRUPTS = 'C' & 0x1f,
	WAITING_MAX = 32, /* keys searched for one that stops; curses can push back as many */
	ERRORS_MAX = 50,  /* reads that fail in a row: the terminal is gone */
};

/* The look of a style: colour pair STYLE + 1 on a colour terminal, attributes on any. */
static const struct {
	short colour;
	attr_t attr;
} looks[STYLE_COUNT] = {
	[STYLE_NORMAL] = {-1, A_NORMAL},
	[STYLE_DIM] = {COLOR_BLUE, A_NORMAL},
	[STYLE_HEADING] = {COLOR_YELLOW, A_BOLD},
	[STYLE_ADDRESS] = {COLOR_CYAN, A_NORMAL},
	[STYLE_FUNCTION] = {COLOR_GREEN, A_NORMAL},
	[STYLE_FILE] = {-1, A_NORMAL},
	[STYLE_CALL] = {COLOR_YELLOW, A_NORMAL},
	[STYLE_RETURN] = {COLOR_CYAN, A_NORMAL},
	[STYLE_SYSTEM] = {COLOR_MAGENTA, A_NORMAL},
	[STYLE_GAP] = {COLOR_MAGENTA, A_BOLD},
	[STYLE_FAULT] = {COLOR_RED, A_BOLD},
	[STYLE_MARK] = {COLOR_YELLOW, A_BOLD},
};

enum {
	PAIR_TITLE = STYLE_COUNT + 1,
};

static const char *terminal_name(void)
{
	const char *name = getenv("TERM");

	return name && *name ? name : "(TERM is not set)";
}

static void colours_begin(struct screen *s)
{
	const char *no = getenv("NO_COLOR");

	s->colour = false;
	if ((no && *no) || !has_colors() || start_color() == ERR)
		return;
	use_default_colors();
	for (short i = 0; i < STYLE_COUNT; i++)
		init_pair((short)(i + 1), looks[i].colour, -1);
	init_pair(PAIR_TITLE, COLOR_WHITE, COLOR_BLUE);
	s->colour = true;
}

/* ^Z comes as a key, so that it is a request like the others. ^C stays a signal, so that it reaches
 * us even while a long lookup runs. */
static void keys_begin(void)
{
	struct termios t;

	cbreak();
	noecho();
	nonl();
	intrflush(stdscr, FALSE);
	keypad(stdscr, TRUE);
	set_escdelay(ESCAPE_DELAY_MS);
	if (!tcgetattr(STDIN_FILENO, &t)) {
		t.c_cc[VSUSP] = t.c_cc[VQUIT] = _POSIX_VDISABLE;
		tcsetattr(STDIN_FILENO, TCSANOW, &t);
		def_prog_mode();
	}
}

/* Signals that end us, with the terminal given back first. */
static const int ending[] = {SIGHUP, SIGQUIT, SIGTERM};

/* ^C was typed, and nobody has asked for it yet. */
static volatile sig_atomic_t interrupted;

/* As curses itself does in its handlers. A terminal that is another job's is left alone. */
void screen_leave(void)
{
	if (tcgetpgrp(STDIN_FILENO) == getpgrp())
		endwin();
}

static void end_by(int signo)
{
	screen_leave();
	raise(signo); /* its default action again */
}

/* The first ^C is a key that stops what runs. Where nobody asks for it, the second one ends us. */
static void interrupt(int signo)
{
	struct sigaction a = {.sa_handler = SIG_DFL};

	if (interrupted) {
		sigaction(signo, &a, NULL);
		end_by(signo);
	}
	interrupted = 1;
}

static bool take_interrupt(void)
{
	bool was = interrupted;

	interrupted = 0;
	return was;
}

/* Without SA_RESTART: a read that waits for a key ends. */
static void interrupt_set(void (*handler)(int))
{
	struct sigaction a = {.sa_handler = handler, .sa_flags = SA_NODEFER};

	interrupted = 0;
	sigaction(SIGINT, &a, NULL);
}

/* Ignored signals stay ignored (nohup). */
static void signals_set(void (*handler)(int))
{
	/* If the terminal is stopped (^S), the handler blocks; a second signal then ends btview. */
	struct sigaction a = {.sa_handler = handler, .sa_flags = (int)SA_RESETHAND | SA_NODEFER},
			 old;

	for (size_t i = 0; i < ARRAY_SIZE(ending); i++)
		if (!sigaction(ending[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(ending[i], &a, NULL);
}

static void measure_screen(struct screen *s) { getmaxyx(stdscr, s->rows, s->columns); }

int screen_open(struct screen *s, struct bt_error *err)
{
	*s = (struct screen){0};
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return bt_fail(err, BT_E_UNSUPPORTED, 0,
			       "input and output must be a terminal; --stdio prints the report");
	setlocale(LC_CTYPE, "");
	s->utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	if (terminfo_usable())
		s->terminal = newterm(NULL, stdout, stdin);
	if (!s->terminal)
		return bt_fail(err, BT_E_UNSUPPORTED, 0,
			       "cannot use a terminal of type %.40s; --stdio prints the report",
			       terminal_name());
	signals_set(end_by);
	interrupt_set(interrupt);
	keys_begin();
	colours_begin(s);
	curs_set(0);
	measure_screen(s);
	return 0;
}

void screen_close(struct screen *s)
{
	curs_set(1);
	/* Without a second screen to leave, the shell continues in the last row. */
	move(s->rows - 1, 0);
	clrtoeol();
	refresh();
	endwin();
	signals_set(SIG_DFL);
	interrupt_set(SIG_DFL);
	delscreen(s->terminal);
	s->terminal = NULL;
}

void screen_clear(struct screen *s)
{
	(void)s;
	erase();
}

static attr_t emphasis_attr(const struct screen *s, enum emphasis e)
{
	static const attr_t attrs[] = {
		[EMPHASIS_NONE] = A_NORMAL,           [EMPHASIS_CURSOR] = A_REVERSE,
		[EMPHASIS_CURSOR_AWAY] = A_UNDERLINE, [EMPHASIS_TITLE] = A_REVERSE | A_BOLD,
		[EMPHASIS_TITLE_AWAY] = A_REVERSE,
	};

	if (s->colour && e == EMPHASIS_TITLE)
		return COLOR_PAIR(PAIR_TITLE) | A_BOLD;
	if (s->colour && e == EMPHASIS_TITLE_AWAY)
		return COLOR_PAIR(PAIR_TITLE);
	return attrs[e];
}

static attr_t style_attr(const struct screen *s, enum style style, enum emphasis e)
{
	attr_t attr = emphasis_attr(s, e);

	if (e >= EMPHASIS_TITLE)
		return attr;
	attr |= looks[style].attr;
	if (s->colour && e != EMPHASIS_CURSOR)
		attr |= COLOR_PAIR(style + 1);
	return attr;
}

/* The next match at or behind byte `at`; an empty one is none. */
static regmatch_t next_match(const regex_t *match, const struct row *row, size_t at)
{
	regmatch_t m = {.rm_so = (regoff_t)at, .rm_eo = (regoff_t)row->len};
	const regmatch_t none = {.rm_so = ROW_BYTES, .rm_eo = ROW_BYTES};

	if (!match || at >= row->len ||
	    regexec(match, row->text, 1, &m, REG_STARTEND | (at ? REG_NOTBOL : 0)))
		return none;
	return m.rm_eo > m.rm_so ? m : none;
}

void screen_row(struct screen *s, int y, int x, int width, const struct row *row, unsigned left,
		enum emphasis emphasis, const regex_t *match)
{
	size_t n, span = 0;
	unsigned column = 0, end = left + (unsigned)width, drawn = 0;
	regmatch_t m = next_match(match, row, 0);

	if (width <= 0 || move(y, x) == ERR)
		return;
	for (size_t i = 0; i < row->len && column < end; i += n) {
		unsigned c = row_columns(row->text + i, &n);
		attr_t attr;

		while (span + 1 < row->span_count && row->spans[span + 1].start <= i)
			span++;
		if ((regoff_t)i >= m.rm_eo)
			m = next_match(match, row, i);
		column += c;
		if (column - c < left || column > end || (!c && !drawn))
			continue;
		for (; drawn < column - c - left; drawn++) /* half of a wide one is left of it */
			addch(' ');
		attr = style_attr(s, row->span_count ? row->spans[span].style : STYLE_NORMAL,
				  emphasis);
		if ((regoff_t)i >= m.rm_so && (regoff_t)i < m.rm_eo)
			attr ^= A_REVERSE | (emphasis == EMPHASIS_CURSOR ? A_BOLD : 0);
		attrset(attr);
		addnstr(row->text + i, (int)n);
		drawn = column - left;
	}
	attrset(emphasis_attr(s, emphasis));
	for (; drawn < (unsigned)width; drawn++)
		addch(' ');
	attrset(A_NORMAL);
}

void screen_separator(struct screen *s, int y, int x, int height)
{
	(void)s;
	mvvline(y, x, '|', height);
}

void screen_cursor(struct screen *s, int y, int x)
{
	(void)s;
	move(y, x);
}

void screen_flush(struct screen *s)
{
	(void)s;
	refresh();
}

void screen_redraw(struct screen *s)
{
	(void)s;
	clearok(curscr, TRUE);
}

/* A character or key; errors of single reads (a signal) are passed over. */
static int read_key(struct screen *s, wint_t *ch)
{
	for (int errors = 0; errors < ERRORS_MAX; errors++) {
		/* One that came while a key was served has ended no read. */
		int rc = interrupted ? ERR : get_wch(ch);

		if (rc == KEY_CODE_YES && *ch == KEY_RESIZE) {
			measure_screen(s);
			s->resized = true;
			return rc;
		}
		if (rc != ERR)
			return rc;
		if (take_interrupt()) {
			*ch = KEY_INTERRUPTS;
			return OK;
		}
	}
	return ERR;
}

int screen_key(struct screen *s)
{
	wint_t ch;
	int rc = read_key(s, &ch);

	if (rc == ERR)
		return SCREEN_ENDED;
	if (rc == KEY_CODE_YES)
		return ch == KEY_RESIZE ? SCREEN_RESIZED : (int)ch;
	return ch < 128 ? (int)ch : SCREEN_OTHER;
}

bool screen_stopped(struct screen *s)
{
	int others[WAITING_MAX], n = 0, ch = ERR;
	bool stopped = false;

	(void)s;
	if (take_interrupt())
		return true;
	timeout(0);
	while (!stopped && n < WAITING_MAX && (ch = getch()) != ERR) {
		stopped = ch == KEY_ESCAPE || ch == KEY_CANCELS;
		if (!stopped)
			others[n++] = ch;
	}
	timeout(-1);
	while (n)
		ungetch(others[--n]);
	return stopped;
}

struct line_edit {
	char *text;
	size_t len, cap;
};

static void edit_char(struct line_edit *l, wint_t ch)
{
	char bytes[MB_LEN_MAX];
	mbstate_t state = {0};
	size_t n = wcrtomb(bytes, (wchar_t)ch, &state);

	if (n == (size_t)-1 || l->len + n >= l->cap)
		return;
	memcpy(l->text + l->len, bytes, n);
	l->len += n;
}

static void edit_erase(struct line_edit *l)
{
	while (l->len && (l->text[l->len - 1] & 0xc0) == 0x80)
		l->len--;
	l->len -= l->len > 0;
}

static void draw_prompt(struct screen *s, const char *prompt, const struct line_edit *l)
{
	struct row row;
	unsigned left;

	row_init(&row, s->utf8);
	row_put(&row, STYLE_NORMAL, "%s", prompt);
	row_outside(&row, STYLE_NORMAL, l->text, 0);
	left = row.width >= (unsigned)s->columns ? row.width - (unsigned)s->columns + 1 : 0;
	screen_row(s, s->rows - 1, 0, s->columns, &row, left, EMPHASIS_NONE, NULL);
	move(s->rows - 1, (int)(row.width - left));
	refresh();
}

enum edit_result { EDIT_ON, EDIT_DONE, EDIT_CANCELLED };

static enum edit_result edit_key(struct line_edit *l, bool is_code, wint_t ch)
{
	if (ch == '\r' || ch == '\n' || (is_code && ch == KEY_ENTER))
		return EDIT_DONE;
	if (ch == KEY_ESCAPE || ch == KEY_CANCELS || ch == KEY_INTERRUPTS)
		return EDIT_CANCELLED;
	if (ch == 127 || ch == '\b' || (is_code && ch == KEY_BACKSPACE)) {
		if (!l->len)
			return EDIT_CANCELLED;
		edit_erase(l);
	} else if (ch == ('U' & 0x1f)) {
		l->len = 0;
	} else if (!is_code && ch >= ' ') {
		edit_char(l, ch);
	}
	l->text[l->len] = '\0';
	return EDIT_ON;
}

bool screen_prompt(struct screen *s, const char *prompt, char *text, size_t cap)
{
	struct line_edit line = {.text = text, .cap = cap};
	enum edit_result result = EDIT_ON;

	text[0] = '\0';
	curs_set(1);
	while (result == EDIT_ON) {
		wint_t ch;
		int rc;

		draw_prompt(s, prompt, &line);
		rc = read_key(s, &ch);
		if (rc == ERR)
			result = EDIT_CANCELLED;
		else if (rc != KEY_CODE_YES || ch != KEY_RESIZE)
			result = edit_key(&line, rc == KEY_CODE_YES, ch);
	}
	curs_set(0);
	return result == EDIT_DONE;
}

void screen_suspend(struct screen *s)
{
	/* The whole group, as the terminal would: btview may stand in a pipeline. Curses' own
	 * handler gives the terminal back before it stops us and takes it again when we go on. */
	kill(0, SIGTSTP);
	clearok(curscr, TRUE);
	measure_screen(s);
	s->resized = true;
}
