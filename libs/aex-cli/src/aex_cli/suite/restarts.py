"""How often a service may die before the suite gives up. Pure: time and chance come in."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """At most `limit` restarts within `window_s` seconds, each after a pause that doubles."""

    limit: int = 5
    window_s: float = 60.0
    first_pause_s: float = 0.2
    longest_pause_s: float = 5.0


@dataclass(frozen=True, slots=True)
class Restarts:
    """The restarts of one service so far: the moments, in monotonic seconds, that still count."""

    policy: RestartPolicy
    moments: tuple[float, ...] = ()

    def after_death(self, now: float) -> "Restarts | None":
        """The restarts with one more at `now`; None where the service has died too often."""
        recent = tuple(moment for moment in self.moments if now - moment < self.policy.window_s)
        if len(recent) >= self.policy.limit:
            return None
        return replace(self, moments=(*recent, now))

    def pause_s(self, jitter: float) -> float:
        """Seconds to wait before the latest restart: doubling, capped, spread over ±25 % by `jitter` in [0, 1)."""
        doubled: float = self.policy.first_pause_s * 2 ** (max(len(self.moments), 1) - 1)
        return min(doubled, self.policy.longest_pause_s) * (0.75 + jitter / 2)
