/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints a look when it brings news: a decision, its outcome, another kind of overload, or another
 * reason why nothing is cancelled.
 */
#include "replay/print.h"

#include <inttypes.h>
#include <string.h>

static const char *const overload_names[] = {
	[CANCEL_HEALTHY] = "healthy",
	[CANCEL_SUSPECT] = "suspect",
	[CANCEL_RESOURCE] = "resource overload",
	[CANCEL_REGULAR] = "regular overload",
};

static double seconds(const struct replay *r)
{
	return (double)(r->verdict.now_ns - r->first_ns) / 1e9;
}

static double percent(uint32_t ppm)
{
	return (double)ppm / 1e4;
}

/* Milliseconds from the onset; a time that is missing is not printed. */
static void print_time(
	const struct printer *p, const char *name, uint64_t at_ns, const struct cancel_times *t)
{
	if (at_ns)
		fprintf(p->out, ", %s after %.0f ms", name,
			(double)(int64_t)(at_ns - t->onset_ns) / 1e6);
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void print_outcome(const struct printer *p, const struct cancel_outcome *o)
{
	const struct cancel_times *t = &o->times;
	fprintf(p->out, "    outcome of decision %" PRIu64, o->serial);
	print_time(p, "delivered", t->delivered_ns, t);
	print_time(p, "acknowledged", t->acknowledged_ns, t);
	print_time(p, "released", t->released_ns, t);
	print_time(p, "recovered", t->recovered_ns, t);
	fprintf(p->out, "%s%s\n", o->excluded ? ", excluded" : "", o->final ? ", final" : "");
}

static void print_resources(const struct printer *p, const struct replay *r)
{
	const char *comma = ": ";
	char name[CANCEL_NAME_MAX];
	for (uint32_t i = 0; i < CANCEL_RESOURCES_MAX; i++) {
		if (!r->verdict.contention_ppm[i])
			continue;
		r->names.resource(r->names.arg, i, name);
		fprintf(p->out, "%s%s %.1f %%", comma, name, percent(r->verdict.contention_ppm[i]));
		comma = ", ";
	}
}

static void print_text(const struct printer *p, const struct replay *r, const char *held)
{
	const struct cancel_verdict *v = &r->verdict;
	char text[CANCEL_TEXT_MAX];
	fprintf(p->out, "look %" PRIu64 ", %.3f s: %s, %.1f %% late", r->reader.look_number,
		seconds(r), overload_names[v->overload], percent(v->late_share_ppm));
	print_resources(p, r);
	fputc('\n', p->out);
	if (held[0])
		fprintf(p->out, "    %s\n", held);
	if (v->decided) {
		text_of_decision(&v->decision, &r->names, text);
		fprintf(p->out, "    decision %" PRIu64 ": %s\n", v->decision.serial, text);
	}
	for (uint32_t i = 0; i < v->outcome_count; i++)
		if (p->all || v->outcomes[i].final)
			print_outcome(p, &v->outcomes[i]);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

void print_string(FILE *out, const char *text)
{
	fputc('"', out);
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		if (*c == '"' || *c == '\\')
			fprintf(out, "\\%c", *c);
		else if (*c < 0x20)
			fprintf(out, "\\u%04x", *c);
		else
			fputc(*c, out);
	}
	fputc('"', out);
}

static void put_number(const struct printer *p, const char *name, uint64_t value)
{
	fprintf(p->out, ",\"%s\":%" PRIu64, name, value);
}

static void put_string(const struct printer *p, const char *name, const char *value)
{
	fprintf(p->out, ",\"%s\":", name);
	print_string(p->out, value);
}

static void put_resources(const struct printer *p, const struct replay *r, const char *name,
	const uint64_t *wide, const uint32_t *narrow)
{
	const char *comma = "";
	char resource[CANCEL_NAME_MAX];
	fprintf(p->out, ",\"%s\":{", name);
	for (uint32_t i = 0; i < CANCEL_RESOURCES_MAX; i++) {
		uint64_t value = wide ? wide[i] : narrow[i];
		if (!value)
			continue;
		r->names.resource(r->names.arg, i, resource);
		fputs(comma, p->out);
		print_string(p->out, resource);
		fprintf(p->out, ":%" PRIu64, value);
		comma = ",";
	}
	fputc('}', p->out);
}

static void put_candidate(const struct printer *p, const struct replay *r, const char *name,
	const struct cancel_candidate *c)
{
	char class_name[CANCEL_NAME_MAX];
	r->names.class_of(r->names.arg, c->class_index, class_name);
	fprintf(p->out, ",\"%s\":{\"task\":%" PRIu64, name, c->task);
	put_number(p, "key", c->key);
	put_number(p, "sequence", c->sequence);
	put_number(p, "signature", c->signature);
	put_string(p, "class", class_name);
	put_number(p, "score_micro", c->score_micro);
	put_resources(p, r, "gain_micro", c->gain_micro, NULL);
	put_resources(p, r, "blame_ppm", NULL, c->blame_ppm);
	put_number(p, "age_ns", c->age_ns);
	put_number(p, "remaining_ns", c->remaining_ns);
	fputc('}', p->out);
}

static void put_contenders(const struct printer *p, const struct cancel_decision *d)
{
	fputs(",\"contenders\":[", p->out);
	for (uint32_t i = 0; i < d->contender_count; i++) {
		const struct cancel_contender *c = &d->contenders[i];
		fprintf(p->out, "%s{\"task\":%" PRIu64, i ? "," : "", c->task);
		put_number(p, "score_micro", c->score_micro);
		put_number(p, "gain_micro", c->gain_micro);
		put_number(p, "blame_ppm", c->blame_ppm);
		put_string(p, "held_back", cancel_cause_name(c->held_back));
		fputc('}', p->out);
	}
	fputc(']', p->out);
}

static void put_decision(const struct printer *p, const struct replay *r)
{
	const struct cancel_decision *d = &r->verdict.decision;
	char text[CANCEL_TEXT_MAX];
	text_of_decision(d, &r->names, text);
	fprintf(p->out, ",\"decision\":{\"serial\":%" PRIu64, d->serial);
	put_string(p, "text", text);
	fprintf(p->out, ",\"acted\":%s,\"escalation\":%s,\"returning\":%s",
		d->acted ? "true" : "false", d->escalation ? "true" : "false",
		d->returning ? "true" : "false");
	put_string(p, "policy", d->policy);
	put_string(p, "estimator", d->estimator);
	put_candidate(p, r, "target", &d->target);
	if (d->runner_up.task)
		put_candidate(p, r, "runner_up", &d->runner_up);
	put_contenders(p, d);
	fputc('}', p->out);
}

static void put_outcome(const struct printer *p, const struct cancel_outcome *o, bool first)
{
	const struct cancel_times *t = &o->times;
	fprintf(p->out, "%s{\"serial\":%" PRIu64, first ? "" : ",", o->serial);
	put_number(p, "onset_ns", t->onset_ns);
	put_number(p, "decided_ns", t->decided_ns);
	put_number(p, "delivered_ns", t->delivered_ns);
	put_number(p, "acknowledged_ns", t->acknowledged_ns);
	put_number(p, "released_ns", t->released_ns);
	put_number(p, "recovered_ns", t->recovered_ns);
	put_number(p, "wasted_ns", o->wasted_ns);
	fprintf(p->out, ",\"excluded\":%s,\"final\":%s}", o->excluded ? "true" : "false",
		o->final ? "true" : "false");
}

static void print_json(const struct printer *p, const struct replay *r, const char *held)
{
	const struct cancel_verdict *v = &r->verdict;
	fprintf(p->out, "%s{\"look\":%" PRIu64, p->lines ? ",\n" : "", r->reader.look_number);
	put_number(p, "now_ns", v->now_ns);
	put_string(p, "overload", overload_names[v->overload]);
	put_string(p, "held_back", cancel_cause_name(v->held_back));
	put_string(p, "held_back_text", held);
	put_number(p, "late_share_ppm", v->late_share_ppm);
	put_resources(p, r, "contention_ppm", NULL, v->contention_ppm);
	if (v->decided)
		put_decision(p, r);
	if (v->outcome_count) {
		fputs(",\"outcomes\":[", p->out);
		for (uint32_t i = 0; i < v->outcome_count; i++)
			put_outcome(p, &v->outcomes[i], i == 0);
		fputc(']', p->out);
	}
	fputc('}', p->out);
}

/* ---- The whole ------------------------------------------------------------------------------- */

void print_begin(struct printer *p)
{
	if (p->json)
		fputs("{\"looks\":[\n", p->out);
}

void print_look(struct printer *p, const struct replay *r)
{
	const struct cancel_verdict *v = &r->verdict;
	char held[CANCEL_TEXT_MAX];
	bool news = p->all || v->decided || v->overload != p->overload;
	text_of_held(v, &r->names, held);
	news = news || strcmp(held, p->held) != 0;
	for (uint32_t i = 0; i < v->outcome_count; i++)
		news = news || v->outcomes[i].final;
	p->overload = v->overload;
	strcpy(p->held, held);
	if (!news)
		return;
	if (p->json)
		print_json(p, r, held);
	else
		print_text(p, r, held);
	p->lines++;
}

static void print_comparison(const struct printer *p, const struct print_summary *s)
{
	if (!s->recorded)
		fputs("no verdicts were recorded\n", p->out);
	else if (!s->different)
		fprintf(p->out, "the core gives the verdicts recorded%s\n",
			s->changed ? " where nothing is changed" : "");
	else
		fprintf(p->out, "%" PRIu64 " verdicts are not those recorded%s\n", s->different,
			s->first_look > 1 ? ": what the core had learned before the first look is "
					    "not in the file"
					  : "");
}

void print_end(struct printer *p, const struct print_summary *s)
{
	if (!p->json) {
		if (s->stopped)
			fprintf(p->out, "%s\n", s->stopped);
		fprintf(p->out,
			"%" PRIu64 " looks from %" PRIu64 ", %" PRIu64
			" decisions, digest %016" PRIx64 "; ",
			s->looks, s->first_look, s->decisions, s->digest);
		print_comparison(p, s);
		return;
	}
	fprintf(p->out, "\n],\"first_look\":%" PRIu64, s->first_look);
	put_number(p, "look_count", s->looks);
	put_number(p, "decisions", s->decisions);
	fprintf(p->out, ",\"digest\":\"%016" PRIx64 "\"", s->digest);
	fprintf(p->out, ",\"verdicts_recorded\":%s", s->recorded ? "true" : "false");
	put_number(p, "different", s->different);
	if (s->stopped)
		put_string(p, "stopped", s->stopped);
	fputs("}\n", p->out);
}
