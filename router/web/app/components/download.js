// Files that the page creates from what is on screen.

/**
 * @param {Blob} blob
 * @param {string} name
 */
export function download(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

const drawn = ['fill', 'stroke', 'stroke-width', 'font', 'text-anchor'];

/**
 * Returns a drawing as a picture with twice its size.
 * @param {SVGSVGElement} svg
 * @param {string} ground
 * @returns {Promise<Blob>}
 */
export async function pictureOf(svg, ground) {
  const copy = /** @type {SVGSVGElement} */ (svg.cloneNode(true));
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  const [from, to] = [svg, copy].map((element) => [...element.querySelectorAll('*')]);
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    to[i].setAttribute('style', drawn.map((name) => `${name}: ${style.getPropertyValue(name)}`).join('; '));
  });
  const { width, height } = svg.getBoundingClientRect();
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  canvas.width = width * 2;
  canvas.height = height * 2;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  context.fillStyle = ground;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('The browser could not create the picture.')))));
}
