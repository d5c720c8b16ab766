/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lifecycle.pml - one slot's life as libcancel/track/state_word.c, task.c, request.c, control/deliver.c and
 * control/rerun.c make it: two host threads begin, bind, unbind, block, allow, exchange the action,
 * look at the request, run again and end; the controller orders cancels; the delivery thread runs
 * actions. What `assert` says here are the promises; docs/trust.md tells them in words.
 *
 * transitions.pml is printed by transitions.c from STATE_WORD_MOVES, the table state_word.c is written from.
 *
 * How it stands for the code:
 * - A step is one access to what threads share. What a thread computes for itself is part of it.
 * - A loop that swaps until it succeeds, and looks at nothing but the word, is one step: a swap that
 *   fails changes nothing. `deliver` looks at the flags between load and swap, so there it is a loop.
 * - The controller orders a cancel of any task that was ever begun, at any time, for any reason. That
 *   is more than the real one does, and it makes the queue part of it: what waits in the queue is
 *   what was ordered, and comes late. Failed binds change nothing and are left out.
 * - Where the code stores the word without comparing, the model does.
 * - All steps are seen by all threads in one order. What the memory orders have to do for that is
 *   TSan's part (tests/race).
 *
 * LEFT_OUT=n leaves out one guard, listed below: each must break a promise. With CALLS and CANCELS
 * there are only so many of each, and every run must come to its end; without them there is no limit.
 */
#include "transitions.pml"

#ifndef TASKS
#define TASKS 2
#endif

/* The guards. run.sh reads this list. */
#define GUARD_END_WAITS             1	/* the end of a task waits for an action */
#define GUARD_BLOCK_WAITS           2	/* so does a blocked phase */
#define GUARD_CHANGE_WAITS          3	/* so does an exchange of the action */
#define GUARD_BLOCK_REFUSES         4	/* no blocked phase once a cancel was delivered */
#define GUARD_BLOCK_SWAPS           5	/* it compares when it stores BLOCKED */
#define GUARD_BLOCKED_IS_SPARED     6	/* no action starts in a blocked phase */
#define GUARD_GENERATION_COMPARED   7	/* deliver compares the generation */
#define GUARD_GENERATION_ADVANCES   8	/* a slot's next task has another generation */
#define GUARD_ENDED_IS_SPARED       9	/* deliver does not start for a task that is ending */
#define GUARD_DELIVER_SWAPS        10	/* it compares when it stores DELIVERING */
#define GUARD_CHANGE_IS_SPARED     11	/* deliver waits while the owner exchanges the action */
#define GUARD_ACTION_READ_INSIDE   12	/* the action is read in DELIVERING, not before */
#define GUARD_RERUN_IS_SPARED      13	/* no second cancel for a task that runs again */
#define GUARD_FLAG_FIRST           14	/* its flag is there before it runs */
#define GUARD_RERUN_SETTLES        15	/* cancel_rerun waits for an action before it answers */
#define GUARD_FORGETS_IN_CHANGING  16	/* it forgets the old cancel while no other can come */
#define GUARD_MANUAL_IS_FINAL      17	/* and looks for an operator's cancel there once more */
#define GUARD_RERUN_CLEARS_SEEN    18	/* the next cancel is acknowledged too */
#define GUARD_BEGIN_CLEARS_SEEN    19	/* and the next task's */
#define GUARD_BIND_LOOKS           20	/* a bound task is not bound again */
#define GUARD_BIND_SWAPS           21	/* not even when two try at once */
#define GUARD_UNBIND_SWAPS         22	/* unbind keeps a state that changes meanwhile */
#define GUARD_DELIVERED_SWAPS      23	/* delivered keeps a binding that changes meanwhile */
#define GUARD_DELIVERED_WAKES      24	/* delivered wakes who waits */
#define GUARD_WAKES_UNDER_LOCK     25	/* with the lock held */
#define GUARD_BLOCKED_IS_REFUSED   26	/* deliver does not wait for the end of a blocked phase */

#define holds(guard) (left_out != GUARD_##guard)
#define at(w, states) (((states) >> state_of(w)) & 1)
#define never_elsewhere(states) assert(at(word, states) || left_out)

#define CULPRIT 1	/* or an escalation: the library's own decision */
#define MANUAL  2	/* an operator's */

#ifdef CALLS
#define may_call (calls < CALLS)
#define called calls++
#define may_stop false
#else
#define may_call true
#define called skip
#define may_stop true
#endif
#ifdef CANCELS
#define may_order (orders < CANCELS)
#define ordered orders++
#else
#define may_order true
#define ordered skip
#endif

/* The word: generation, bound, state. */
#define BOUND 8
#define state_of(w) ((w) & 7)
#define generation_of(w) ((w) >> 4)
#define with_state(w, state) (((w) & 248) | (state))
byte word = 16 | FREE;
byte left_out;

/* The rest of the slot. */
bool listed = true;	/* on the free list */
bool rerunning;		/* CANCEL_RERUNNING of its flags */
bool acknowledged, blocked;
byte reason;
bit action, argument;	/* belong together: equal, except while they are exchanged */

/* action_lock and action_over of state_word.c */
bool locked, asleep[2];

/* What is promised, in terms of what has happened. */
byte serial;		/* tasks begun */
bool alive;		/* begun, and its end has not returned */
bool held;		/* a thread has it as its current task */
bool acting;		/* an action is running … */
bit acting_on;		/* … with this argument */
bool cancelled;		/* one has run for this attempt of the task */
bool killed;		/* an operator's has started for this task */
bool again;		/* it runs again */
bool seen_by_host;	/* this attempt's request was acknowledged */
bool sheltered;		/* between a block that returned 0 and its allow */

chan order = [0] of { byte, byte }; /* of which task, why */

inline wait_for_action()
{
	atomic { !locked -> locked = true };
	do
	:: state_of(word) == DELIVERING ->
		atomic { asleep[me] = true; locked = false };
		atomic { !asleep[me] && !locked -> locked = true }
	:: atomic { state_of(word) != DELIVERING -> locked = false; break }
	od
}

/* The owner's moves that wait: `before` is where it came from. */
inline leave(from, waits, to, guard)
{
	do
	:: at(word, waits) && guard -> wait_for_action()
	:: atomic {
			!(at(word, waits) && guard) ->
			never_elsewhere(from);
			before = state_of(word);
			word = with_state(word, to);
			break
		}
	od
}

inline begin()
{
	atomic {
		rerunning = false; reason = 0; blocked = false; action = 0; argument = 0;
		if
		:: holds(BEGIN_CLEARS_SEEN) -> acknowledged = false
		:: else
		fi;
		never_elsewhere(open_from);
		word = (generation_of(word) << 4) | BOUND | open_to;
		serial++;
		alive = true; held = true; mine = true;
		cancelled = false; killed = false; again = false; seen_by_host = false
	}
}

inline bind()
{
	atomic {
		if
		:: word == before || !holds(BIND_SWAPS) ->
			assert(!held);
			word = before | BOUND;
			held = true; mine = true
		:: else
		fi;
		before = 0
	}
}

inline unbind()
{
	atomic { mine = false; held = false };
	if
	:: holds(UNBIND_SWAPS) -> word = word & 247
	:: else -> before = word; atomic { word = before & 247; before = 0 }
	fi
}

inline block()
{
	do
	:: at(word, block_waits) && holds(BLOCK_WAITS) -> wait_for_action()
	:: atomic {
			at(word, block_stays) && holds(BLOCK_REFUSES) ->
			break
		}
	:: atomic {
			!(at(word, block_waits) && holds(BLOCK_WAITS)) &&
			!(at(word, block_stays) && holds(BLOCK_REFUSES)) ->
			never_elsewhere(block_from);
			before = word
		};
		atomic {
			if
			:: word == before || !holds(BLOCK_SWAPS) ->
				word = with_state(before, block_to);
				assert(!acting && !cancelled);
				blocked = true; sheltered = true; before = 0;
				break
			:: else
			fi
		}
	od;
	before = 0
}

inline allow()
{
	blocked = false;
	seen = word;
	atomic {
		never_elsewhere(allow_from);
		sheltered = false;
		word = with_state(seen, allow_to);
		seen = 0
	}
}

inline exchange_action()
{
	if
	:: atomic { at(word, change_stays) -> before = state_of(word) }
	:: atomic { !at(word, change_stays) -> skip };
		leave(change_from, change_waits, change_to, holds(CHANGE_WAITS))
	fi;
	action = 1 - action;
	argument = 1 - argument;
	seen = word;
	atomic {
		word = with_state(seen, before);
		assert(!acting || acting_on == argument);
		before = 0; seen = 0
	}
}

inline look()
{
	atomic {
		if
		:: at(word, requested) -> before = 1
		:: else -> assert(!cancelled)
		fi
	};
	atomic {
		if
		:: before ->
			if
			:: !acknowledged -> acknowledged = true; seen_by_host = true
			:: else
			fi;
			assert(seen_by_host);
			before = 0
		:: else
		fi
	}
}

inline forget()
{
	if
	:: holds(FLAG_FIRST) -> rerunning = true
	:: else
	fi;
	if
	:: holds(RERUN_CLEARS_SEEN) -> acknowledged = false
	:: else
	fi;
	reason = 0
}

inline start_anew()
{
	seen = word;
	atomic {
		never_elsewhere(resume_from);
		word = with_state(seen, resume_to);
		before = 0; seen = 0;
		assert(!acting && !killed && !reason);
		again = true; cancelled = false; seen_by_host = false
	};
	if
	:: !holds(FLAG_FIRST) -> rerunning = true
	:: else
	fi
}

inline rerun()
{
	if
	:: holds(RERUN_SETTLES) ->
		do
		:: state_of(word) == DELIVERING -> wait_for_action()
		:: atomic { state_of(word) != DELIVERING -> before = (state_of(word) == DELIVERED); break }
		od
	:: else -> before = (reason != 0)
	fi;
	if
	:: !before -> assert(!seen_by_host)	/* never cancelled: go on */
	:: before -> before = 0			/* wait, or drop it */
	:: atomic { before && reason != MANUAL -> before = 0 };
		if
		:: holds(FORGETS_IN_CHANGING) ->
			leave(change_from, change_waits, change_to, true);
			if
			:: atomic { reason == MANUAL && holds(MANUAL_IS_FINAL) -> skip };
				seen = word;
				atomic {
					never_elsewhere(keep_from);
					word = with_state(seen, keep_to);
					before = 0; seen = 0
				}
			:: atomic { !(reason == MANUAL && holds(MANUAL_IS_FINAL)) -> skip };
				forget();
				start_anew()
			fi
		:: else ->
			forget();
			leave(change_from, change_waits, change_to, true);
			start_anew()
		fi
	fi
}

inline end_task()
{
	leave(end_from, end_waits, end_to, holds(END_WAITS));
	seen = word;
	atomic {
		before = 0;
		never_elsewhere(close_from);
		word = ((generation_of(seen) + holds(GENERATION_ADVANCES)) << 4) | close_to;
		assert(!acting);
		alive = false; held = false; mine = false; sheltered = false;
		seen = 0
	};
	listed = true
}

proctype owner(bit me)
{
	bool mine;	/* the task is this thread's current one */
	byte before, seen;	/* the word or its state, as it was found */
#ifdef CALLS
	byte calls;
#endif
end:	do
	:: atomic { !mine && listed && serial < TASKS && may_call -> listed = false; called }; begin()
	:: atomic {
			!mine && at(word, lives) && (!(word & BOUND) || !holds(BIND_LOOKS)) && may_call ->
			before = word;
			called
		};
		bind()
	:: atomic { mine && may_call -> called }; unbind()
	:: atomic { mine && !blocked && may_call -> called }; block()
	:: atomic { mine && blocked && may_call -> called }; allow()
	:: atomic { mine && may_call -> called }; exchange_action()
	:: atomic { mine && may_call -> called }; look()
	:: atomic { mine && may_call -> called }; rerun()
	:: atomic { mine && may_call -> called }; end_task()
	:: may_stop -> break
	od
}

active proctype controller()
{
#ifdef CANCELS
	byte orders;
#endif
end:	do
	:: may_order && serial > 0 -> order ! 1, CULPRIT; ordered
	:: may_order && serial > 0 -> order ! 1, MANUAL; ordered
	:: may_order && serial > 1 -> order ! 2, CULPRIT; ordered
	:: may_order && serial > 1 -> order ! 2, MANUAL; ordered
	:: may_order && serial > 2 -> order ! 3, CULPRIT; ordered
	:: may_order && serial > 2 -> order ! 3, MANUAL; ordered
	:: may_stop -> break
	od
}

#define generation_ordered (holds(GENERATION_ADVANCES) -> task : 1)
#define is_gone ( \
	(!at(word, lives) && (state_of(word) != ENDING || holds(ENDED_IS_SPARED))) || \
	(generation_of(word) != generation_ordered && holds(GENERATION_COMPARED)))
#define stays (at(word, deliver_stays) && at(word, lives) && holds(BLOCKED_IS_SPARED))
#define waits (at(word, deliver_waits) && holds(CHANGE_IS_SPARED))

active proctype delivery()
{
	byte task, why, found;
	bit what;
end:	do
	:: order ? task, why ->
		do
		:: atomic { is_gone -> break }
		:: atomic { !is_gone && stays && holds(BLOCKED_IS_REFUSED) -> break }
		:: atomic { !is_gone && stays && !holds(BLOCKED_IS_REFUSED) -> skip }
		:: atomic { !is_gone && waits -> skip }
		:: atomic {
				!is_gone && !stays && !waits ->
				never_elsewhere(deliver_from);
				found = word
			};
			if
			:: !holds(ACTION_READ_INSIDE) -> what = action
			:: else
			fi;
			if
			:: atomic {
					why != MANUAL && state_of(found) == RUNNING && rerunning &&
					holds(RERUN_IS_SPARED) -> break
				}
			:: else
			fi;
			atomic {
				if
				:: word == found || !holds(DELIVER_SWAPS) ->
					word = with_state(found, deliver_to);
					found = 0;
					goto act
				:: else -> found = 0
				fi
			}
		od;
		atomic { task = 0; why = 0; found = 0; what = 0 }
	od;

act:	atomic {
		if
		:: reason != MANUAL -> reason = why
		:: else
		fi
	};
	if
	:: holds(ACTION_READ_INSIDE) -> what = action
	:: else
	fi;
	atomic {
		assert(alive && task == serial);
		assert(!sheltered);
		assert(what == action && what == argument);
		assert(!again || cancelled || why == MANUAL);
		acting = true; acting_on = what;
		killed = killed || why == MANUAL
	};
	atomic { acting = false; acting_on = 0; cancelled = true; task = 0; why = 0; what = 0 };
	if
	:: holds(DELIVERED_SWAPS) -> word = with_state(word, delivered_to)
	:: else -> found = word; atomic { word = with_state(found, delivered_to); found = 0 }
	fi;
	if
	:: holds(WAKES_UNDER_LOCK) -> atomic { !locked -> locked = true }
	:: else
	fi;
	if
	:: holds(DELIVERED_WAKES) -> atomic { asleep[0] = false; asleep[1] = false }
	:: else
	fi;
	if
	:: holds(WAKES_UNDER_LOCK) -> locked = false
	:: else
	fi;
	goto end
}

init
{
	atomic {
		c_code { now.left_out = getenv("LEFT_OUT") ? atoi(getenv("LEFT_OUT")) : 0; };
		run owner(0);
		run owner(1)
	}
}
