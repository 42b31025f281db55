// Draws many lines in parts. A part far out of sight is an empty box of its height, so a file of any length has few elements.

import { useEffect, useRef, useState, type ReactNode } from "react";

import "./lazy-parts.css";

/** Lines in a part. */
const PART = 250;
/** Pixels of a line that was not drawn yet; its real height counts once it was. */
const LINE = 20;
/** Parts this close to the visible area are drawn. */
const MARGIN = "800px";

interface Props {
  begin: number;
  end: number;
  draw(begin: number, end: number): ReactNode;
}

export function LazyParts({ begin, end, draw }: Props) {
  if (end - begin <= 2 * PART || typeof IntersectionObserver === "undefined") return draw(begin, end);
  const parts = Array.from({ length: Math.ceil((end - begin) / PART) }, (_, at) => begin + at * PART);
  return parts.map((first) => <Part key={first} begin={first} end={Math.min(end, first + PART)} draw={draw} />);
}

function Part({ begin, end, draw }: Props) {
  const box = useRef<HTMLSpanElement>(null);
  const [near, setNear] = useState(false);
  const [height, setHeight] = useState((end - begin) * LINE);
  useEffect(() => {
    const element = box.current!;
    const watch = new IntersectionObserver(
      ([entry]) => {
        if (!entry!.isIntersecting && element.firstChild) setHeight(element.offsetHeight);
        setNear(entry!.isIntersecting);
      },
      { rootMargin: MARGIN },
    );
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return (
    <span ref={box} className="lazy-part" style={near ? undefined : { height }}>
      {near && draw(begin, end)}
    </span>
  );
}
