"""Plain sentences, each once, with the places that it is about."""

from __future__ import annotations

__all__ = ["Notes"]

_PLACES = 3


class Notes:
    """Collects sentences. Not safe to share between threads."""

    def __init__(self) -> None:
        self._places: dict[str, list[str]] = {}

    def say(self, sentence: str, place: str | None = None) -> None:
        """Add a sentence, or one more place to it.

        Args:
            sentence: The sentence; without a full stop where it has places.
            place: Where in the schema it holds, as a JSON pointer.
        """
        places = self._places.setdefault(sentence, [])
        if place is not None and place not in places:
            places.append(place)

    def sentences(self) -> tuple[str, ...]:
        """Return the sentences in the order in which they were said first."""
        return tuple(map(_told, self._places, self._places.values()))


def _told(sentence: str, places: list[str]) -> str:
    if not places:
        return sentence
    more = len(places) - _PLACES
    shown = ", ".join(places[:_PLACES]) + (f" and {more} more" if more > 0 else "")
    return f"{sentence}: {shown}."
