(function () {
  var marked = [];
  function mark(event) {
    var from = event.target.closest && event.target.closest("[data-r]");
    marked.forEach(function (one) { one.classList.remove("on"); });
    marked = from ? [].slice.call(
      document.querySelectorAll('[data-r="' + from.dataset.r + '"]')) : [];
    marked.forEach(function (one) { one.classList.add("on"); });
    if (from && event.type === "focusin") marked.forEach(function (one) {
      if (one !== from) one.scrollIntoView({block: "nearest"});
    });
  }
  document.addEventListener("mouseover", mark);
  document.addEventListener("focusin", mark);
}());
